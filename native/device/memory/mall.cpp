#include "memory/mall.h"

#include <algorithm>

#include "memory/cache.h"

namespace rpd {

Mall::Mall(uint64_t bytes, uint32_t ways) : ways_(ways), sets_(bytes / kLineBytes / ways) {}

bool Mall::holds(uint64_t line) const {
  if (entries_.empty()) return false;
  const Entry* set = &entries_[first_of(line)];
  return std::any_of(set, set + ways_, [tag = tag_of(line)](const Entry& entry) { return entry.tag == tag; });
}

bool Mall::touch(uint64_t line) {
  if (entries_.empty()) entries_ = ZeroedArray<Entry>(sets_ * ways_);
  Entry* set = &entries_[first_of(line)];
  const uint32_t tag = tag_of(line);
  Entry* victim = set;
  ++now_;
  for (uint32_t way = 0; way < ways_; ++way) {
    if (set[way].tag == tag) {
      set[way].used = now_;
      return true;
    }
    if (set[way].used < victim->used) victim = &set[way];
  }
  *victim = {tag, now_};
  return false;
}

}  // namespace rpd
