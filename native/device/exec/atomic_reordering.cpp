#include "exec/atomic_reordering.h"

#include <algorithm>

namespace rpd {

void AtomicReordering::add(const Wave& wave, uint32_t completed, uint32_t last, const Op& atomic, uint32_t by, uint32_t epoch,
                           uint64_t word) {
  words_[word] = true;
  of_[wave].push_back({completed, last, &atomic, by, epoch, word, notes_++});
}

bool AtomicReordering::sees(uint32_t reader, const Note& note) const {
  const auto seen = seen_.find({reader, note.word});
  return seen != seen_.end() && seen->second > note.index;
}

// Another wave's store is ordered before the atomic only if there is a barrier between them.
const Op* AtomicReordering::overtaking_atomic(const Wave& wave, uint32_t number, uint32_t epoch, uint32_t reader) const {
  const auto entry = of_.find(wave);
  if (entry == of_.end()) return nullptr;
  const auto& notes = entry->second;
  const auto is_before = [](const Note& n, uint32_t store) { return n.last < store; };
  auto note = std::lower_bound(notes.begin(), notes.end(), number, is_before);
  for (; note != notes.end() && note->completed < number; ++note) {
    if ((note->by == wave.index || epoch < note->epoch) && sees(reader, *note)) return note->atomic;
  }
  return nullptr;
}

}  // namespace rpd
