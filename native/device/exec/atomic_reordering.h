// Tracks atomics that may become visible before a store that the same workgroup issued earlier. Used only by the race check.
//
// Both are at agent or system scope; nothing waits for the store (s_waitcnt vmcnt) before the atomic is issued, and memory
// has many channels. A wave that reads the stored data because the atomic told it to may still see the old contents.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/op.h"

namespace rpd {

class AtomicReordering {
 public:
  struct Wave {
    uint32_t group;
    uint32_t index;
    auto operator<=>(const Wave&) const = default;
  };
  // Notes that the workgroup's wave `by` issued `atomic` on `word` in `epoch`, while those of `wave`'s vector memory accesses
  // that are numbered above `completed`, up to `last`, may be stores in flight.
  void note(const Wave& wave, uint32_t completed, uint32_t last, const Op& atomic, uint32_t by, uint32_t epoch, uint64_t word);
  // Notes that the group has executed an atomic on the word.
  void see(uint32_t group, uint64_t word) {
    if (words_.contains(word)) seen_[{group, word}] = notes_;
  }
  // The atomic that workgroup `reader` has seen and that may have overtaken the wave's store, or null.
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
  std::map<Wave, std::vector<Note>> of_;                            // by the wave overtaken; `completed` ascends
  std::unordered_map<uint64_t, bool> words_;                        // of the atomics
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> seen_;          // by group and word: the number of notes at that time
};

}  // namespace rpd
