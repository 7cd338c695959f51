// Atomics that others may see before a store which the same workgroup issued earlier. Only with a race check.
//
// Both are at agent or system scope; nothing waits for the store (s_waitcnt vmcnt) before the atomic is issued, and memory
// has many channels. A wave that reads what was stored because of what the atomic told it may read what was there before.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/op.h"

namespace rpd {

class Overtaking {
 public:
  struct Wave {
    uint32_t group;
    uint32_t index;
    auto operator<=>(const Wave&) const = default;
  };
  // `atomic`, issued in the epoch by `by`, at the word of memory; the vector memory accesses of `wave` with numbers behind
  // `completed`, up to `last`, may be stores under way.
  void note(const Wave& wave, uint32_t completed, uint32_t last, const Op& atomic, uint32_t by, uint32_t epoch, uint64_t word);
  // An atomic of the group at the word.
  void see(uint32_t group, uint64_t word) {
    if (words_.contains(word)) seen_[{group, word}] = notes_;
  }
  // The atomic that `reader` has seen and that may have overtaken the wave's store, or null.
  const Op* before(const Wave& wave, uint32_t number, uint32_t epoch, uint32_t reader) const;

  bool any() const { return notes_ > 0; }
  void clear() { *this = {}; }

 private:
  struct Note {
    uint32_t completed, last;
    const Op* atomic;
    uint32_t by, epoch;
    uint64_t word;
    uint64_t index;
  };
  bool sees(uint32_t reader, const Note& note) const;

  uint64_t notes_ = 0;
  std::map<Wave, std::vector<Note>> of_;                            // whose stores are overtaken; `completed` goes up
  std::unordered_map<uint64_t, bool> words_;                        // of the atomics
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> seen_;          // by group and word: how many notes there were
};

}  // namespace rpd
