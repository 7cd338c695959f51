#include "memory/mall.h"

#include "memory/cache.h"

namespace rpd {

Mall::Mall(uint64_t bytes, uint32_t ways) : ways_(ways), sets_(bytes / kLineBytes / ways) {}

bool Mall::touch(uint64_t line) {
  if (entries_.empty()) entries_.resize(sets_ * ways_);
  Entry* set = &entries_[(line ^ line / sets_) % sets_ * ways_];
  const auto tag = static_cast<uint32_t>(line / sets_ + 1);
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
