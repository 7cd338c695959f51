// Tracks atomics that may become visible before a store that the same workgroup issued earlier. Used only by the race check.
//
// The atomic and the store are both at agent or system scope. If nothing waits for the store (s_waitcnt vmcnt) before the
// atomic is issued, the atomic may overtake it on a different memory channel. A wave that has seen the atomic's result, and
// therefore reads the stored data, may then still get the old contents.
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
  // Records that wave `by` issued `atomic` on `word` in `epoch` while stores by `wave`, in the same workgroup, may still have
  // been in flight. These stores are among the vector memory accesses of `wave`, from number `completed` + 1 to number `last`.
  void add(const Wave& wave, uint32_t completed, uint32_t last, const Op& atomic, uint32_t by, uint32_t epoch, uint64_t word);
  // Records that the workgroup has executed an atomic load or read-modify-write on the word, if a recorded atomic accesses it.
  void note_observation(uint32_t group, uint64_t word) {
    if (words_.contains(word)) seen_[{group, word}] = notes_;
  }
  // Returns an atomic that may have overtaken the wave's store `number`, issued in `epoch`, and whose result workgroup `reader`
  // has seen; null if there is none.
  const Op* overtaking_atomic(const Wave& wave, uint32_t number, uint32_t epoch, uint32_t reader) const;

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
  std::map<Wave, std::vector<Note>> of_;  // by the overtaken wave, in ascending order of `completed`
  std::unordered_map<uint64_t, bool> words_;  // the words that the recorded atomics access
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> seen_;  // [workgroup, word]: number of notes when it was last seen
};

}  // namespace rpd
