// The accesses of large dispatches: counts what can be counted without a model of the caches, and notes which lines are
// touched.
#include <algorithm>
#include <bit>

#include "timing/coalescing.h"
#include "timing/memory_system.h"

namespace rpd {

void MemorySystem::start_tracking_touched_lines() {
  before_tracking_ = counts_;
  touched_lines_.clear();
}

void MemorySystem::stop_modelling_caches() {
  l2_.write_back([this](uint64_t line, const ByteMask&) {
    if (owner_of(line) == own_) lines_written_.insert(line);
  });
  l2_.for_each([this](uint64_t line) { may_be_there_.insert(line); });
  l2_.invalidate();
}

void MemorySystem::note_bytes(AccessKind kind, uint64_t address, uint64_t bytes) {
  const uint64_t first = address / kLineBytes, last = (address + bytes - 1) / kLineBytes;
  const auto matters = [this](uint64_t line) { return owner_of(line) == own_; };
  if (kind != AccessKind::Store) touched_lines_.read(first, last, matters);
  if (kind != AccessKind::Load) touched_lines_.write(first, last, matters);
}

// A lane that touches nothing but the line that the previous lane touched does not count as another touch.
void MemorySystem::note_lanes(const VectorAccess& access) {
  uint64_t previous = ~uint64_t{0};
  for_each_lane(access.mask, [&](int l) {
    const uint64_t begin = access.at(l), first = begin / kLineBytes, last = (begin + access.bytes - 1) / kLineBytes;
    if (first == previous && last == previous) return;
    previous = last;
    note_bytes(access.kind, begin, access.bytes);
  });
}

// Private memory is left out because it does not affect other dispatches.
void MemorySystem::note_lines(const VectorAccess& access) {
  if (access.space == Space::Lds || access.space == Space::Scratch) return;
  switch (access.pattern) {
    case LanePattern::Consecutive: return note_bytes(access.kind, access.first, uint64_t{access.bytes} * kLanes);
    case LanePattern::Same: return note_bytes(access.kind, access.first, access.bytes);
    case LanePattern::Any:
    case LanePattern::Rows: return note_lanes(access);
  }
}

void MemorySystem::count_atomic(WaveTiming& wave, const Op& op, const VectorAccess& access) {
  (op.returns ? counts_.l1_lanes_atomic_with_return : counts_.l1_lanes_atomic_without_return) += std::popcount(access.mask);
  const bool may_share_words = !access.consecutive();
  coalesce(access, [&](const WriteRequest& request) {
    count_atomic_request(op, access, request.block, may_share_words);
    ++wave.atomics;
  });
}

void MemorySystem::count_access(const Wave& wave, const Op& op, const VectorAccess& access) {
  const uint64_t lanes = std::popcount(access.mask);
  if (access.space != Space::Lds && access.space != Space::Scratch) translate(wave.timing->l1, access);
  if (access.space == Space::Lds) {
    counts_.lds_lanes += lanes;
  } else if (access.kind == AccessKind::Atomic) {
    count_atomic(*wave.timing, op, access);
  } else {
    const uint64_t parts = access.space == Space::Scratch ? (access.bytes + 3) / 4 : 1;
    (access.kind == AccessKind::Load ? counts_.l1_lanes_reading : counts_.l1_lanes_writing) += parts * lanes;
  }
}

void MemorySystem::count_scalar_access(uint64_t address, uint32_t bytes) {
  counts_.scalar_requests += (address + bytes - 1) / kScalarLineBytes - address / kScalarLineBytes + 1;
  ++counts_.scalar_loads[std::countr_zero(bytes) - std::countr_zero(sizeof(uint32_t))];
}

// Fills at most `share` of the L2 with the last of `lines`.
void MemorySystem::fill_l2(const std::vector<uint64_t>& lines, double share) {
  const auto room = static_cast<size_t>(share * static_cast<double>(l2_.capacity()));
  for (size_t i = lines.size() - std::min(room, lines.size()); i < lines.size(); ++i) {
    const size_t slot = l2_.find(lines[i]);
    l2_.fill(slot != kNotFound ? slot : l2_.allocate(lines[i]).slot);
  }
}

void MemorySystem::end_without_cache_models() {
  for (const uint64_t line : touched_lines_.lines_read()) lines_read_.insert(line), may_be_there_.insert(line);
  for (const uint64_t line : touched_lines_.lines_written()) lines_written_.insert(line), may_be_there_.insert(line);
  const auto reads = static_cast<double>(touched_lines_.distinct_read()),
             writes = static_cast<double>(touched_lines_.distinct_written());
  if (reads + writes == 0) return;
  fill_l2(touched_lines_.lines_read(), reads / (reads + writes));
  fill_l2(touched_lines_.lines_written(), writes / (reads + writes));
}

}  // namespace rpd
