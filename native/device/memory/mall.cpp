#include "memory/mall.h"

#include <bit>

#include "memory/cache.h"

namespace rpd {

Mall::Mall(uint64_t bytes) : sets_(bytes / kLineBytes / kWays) {}

void Mall::clear() {
  tags_ = {};
  ages_ = {};
}

// Fills a free way if there is one, and otherwise replaces the least recently used one.
bool Mall::touch(uint64_t line) {
  if (sets_ == 0) return false;
  if (tags_.empty()) {
    tags_ = ZeroedArray<uint32_t>(sets_ * kWays);
    ages_ = ZeroedArray<uint8_t>(sets_ * kWays);
  }
  uint32_t* const tags = &tags_[first_of(line)];
  uint8_t* const ages = &ages_[first_of(line)];
  const uint32_t matches = same_words(tags, tag_of(line)), free = same_words(tags, 0);
  const int way = std::countr_zero(matches ? matches : free ? free : find_equal<kWays>(ages, kWays - 1));
  const uint8_t age = matches || !free ? ages[way] : kWays;
  move_to_front<kWays>(ages, static_cast<uint32_t>(way), age);
  tags[way] = tag_of(line);
  return matches != 0;
}

}  // namespace rpd
