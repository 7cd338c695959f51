#include "timing/memory_system.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

#include "exec/workgroup.h"
#include "timing/coalescing.h"
#include "timing/remote_memory.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

FetchedFrom source_of(uint64_t latency) {
  return latency > parameter::l2_latency_cycles ? FetchedFrom::Memory : FetchedFrom::L2;
}

// At most one CU of each pair is disabled, which leaves the pair's scalar cache to the other CU.
uint32_t scalar_cache_of(uint32_t cu) {
  const uint32_t pairs = target::cus_per_xcd() - target_of_device().scalar_caches_per_xcd;
  return cu < 2 * pairs ? cu / 2 : cu - pairs;
}

// Private memory has no device addresses here. Its traffic needs addresses that nothing else uses, within the 56 bits for
// which the Infinity Cache keeps tags.
constexpr uint64_t kScratchRegion = uint64_t{1} << 55;
uint64_t max_waves_in_group() { return target_of_device().rules.has_wave32 ? 32 : 16; }

// Vector memory completes in order: no access completes before the ones issued earlier.
void complete_vector(WaveTiming& wave, const Op& op, uint64_t latency) {
  if (is_counted_as_store(op)) {
    wave.stores_done = std::max(wave.stores_done, wave.clock + latency);
    return;
  }
  constexpr uint32_t room = WaveTiming::kOutstanding;
  WaveTiming::Completions& done = *wave.vector_done;
  const uint64_t before = wave.vector_issued ? done[(wave.vector_issued - 1) % room] : 0;
  done[wave.vector_issued++ % room] = std::max(before, wave.clock + latency);
}

template <class T>
void add(T& to, uint64_t amount) {
  to = static_cast<T>(std::min<uint64_t>(std::numeric_limits<T>::max(), to + amount));
}

// Adds the increase in the counts during this object's lifetime to a wave's recorded cost and to its demands on the CU's units.
class AccessCostRecorder {
 public:
  AccessCostRecorder(const MemoryCounts& counts, WaveTiming& wave)
      : counts_(counts),
        cost_(wave.cost()),
        units_(wave.units),
        wave_atomics_(wave.atomics),
        look_ups_(counts.l1_accesses),
        reads_(counts.l1_read_requests),
        writes_(writes()),
        atomics_(counts.l2_atomics),
        memory_(counts.memory_reads128),
        remote_(counts.remote_reads64) {}
  ~AccessCostRecorder() {
    keep_units_busy();
    if (!cost_) [[likely]]
      return;
    add(cost_->look_ups, counts_.l1_accesses - look_ups_);
    add(cost_->l2_reads, counts_.l1_read_requests - reads_);
    add(cost_->l2_writes, writes() - writes_);
    add(cost_->memory_reads, counts_.memory_reads128 - memory_);
    add(cost_->remote_reads, counts_.remote_reads64 - remote_);
  }

 private:
  uint64_t writes() const { return counts_.l1_write_requests + counts_.l2_atomics; }

  // Charges the units for the same number of cycles as the replay would.
  void keep_units_busy() {
    units_.address += std::max<uint64_t>(parameter::issue_cycles, counts_.l1_accesses - look_ups_);
    wave_atomics_ += counts_.l2_atomics - atomics_;
    units_.traffic_bytes += 128 * (counts_.l1_read_requests - reads_) + 64 * (writes() - writes_);
  }

  const MemoryCounts& counts_;
  AccessCost* cost_;
  WaveUnits& units_;
  uint64_t& wave_atomics_;
  uint64_t look_ups_, reads_, writes_, atomics_, memory_, remote_;
};

}  // namespace

MemorySystem::MemorySystem()
    : tlb_(static_cast<size_t>(parameter::cus_per_xcd) * target_of_device().l1s_per_cu), l2_(parameter::l2_bytes) {
  l1_.reserve(tlb_.size());
  for (size_t i = 0; i < tlb_.size(); ++i) l1_.emplace_back(parameter::l1_bytes / kLineBytes);
  for (uint32_t i = 0; i < target_of_device().scalar_caches_per_xcd; ++i)
    scalar_.emplace_back(parameter::scalar_cache_bytes / kScalarLineBytes);
}

void MemorySystem::begin(const AllocationMap* map, const Mall& mall) {
  counts_ = {};
  before_tracking_ = {};
  uncertain_look_ups_ = 0;
  touched_lines_.clear();
  map_ = map;
  own_ = map ? map->device() : Owner{0};
  mall_ = &mall;
  placements_.fill({});
  updates_.clear();
  lines_read_.clear();
  lines_written_.clear();
  for (VectorL1& cache : l1_) cache.tags.invalidate();
  for (ScalarCache& cache : scalar_) cache.tags.invalidate();
  counts_.l1_invalidations = l1_.size();
}

void MemorySystem::invalidate() {
  l2_.write_back([](uint64_t, const ByteMask&) {});
  l2_.invalidate();
  may_be_there_.clear();
  for (L1Tlb& tlb : tlb_) tlb.invalidate();
}

// Iterates over the written lines or over the cache, whichever is smaller.
void MemorySystem::written_elsewhere(const WrittenLines& written, const MemorySystem* writer) {
  const DistinctLines* const own = writer ? &writer->lines_written_ : nullptr;
  const auto stale = [&](uint64_t line) { return written.written_by_others(line, own); };
  if (written.lines().size() >= l2_.capacity()) return l2_.make_stale_if(stale);
  for (const uint64_t line : written.lines())
    if (stale(line)) l2_.make_stale(line);
}

void MemorySystem::written_elsewhere(uint64_t address, uint64_t bytes) {
  const uint64_t first = address / kLineBytes, end = (address + bytes + kLineBytes - 1) / kLineBytes;
  if (end - first >= l2_.capacity()) return l2_.make_stale_if([=](uint64_t line) { return line >= first && line < end; });
  for (uint64_t line = first; line < end; ++line) l2_.make_stale(line);
}

// Looks at the contents of the Infinity Cache before the dispatch, and at the lines that this XCD has read during it. What the
// other XCDs read meanwhile is known only afterwards; see mall_hits().
uint64_t MemorySystem::latency_beyond_l2(uint64_t line) const {
  const bool near = (mall_ && mall_->holds(line)) || lines_read_.contains(line);
  return near ? parameter::mall_latency_cycles : parameter::hbm_latency_cycles;
}

void MemorySystem::end(bool releases) {
  if (!releases) return;
  const uint64_t before = counts_.memory_write_bytes();
  l2_.write_back([this](uint64_t line, const ByteMask& dirty) { write_to_memory(line, dirty); });
  counts_.release_bytes += counts_.memory_write_bytes() - before;
}

// Allocations are at least a page, so a line lies entirely in one memory or the other.
Owner MemorySystem::owner_of(uint64_t line) {
  const uint64_t address = line * kLineBytes;
  if (!map_ || address >= kScratchRegion) return own_;
  constexpr uint64_t spread = 1 << 21;
  OwnedRange& range = placements_[address / spread % placements_.size()];
  if (!range.holds(address)) range = map_->placement(address);
  return range.owner;
}

void MemorySystem::count_remote_reads(Owner owner, uint32_t requests) {
  ++counts_.l2_misses;
  counts_.memory_reads64 += requests;
  counts_.remote_reads64 += requests;
  if (owner != kHost) counts_.peer_reads64[owner] += requests;
}

// The host's memory is not cached in the L2: in recordings, each scalar cache fetched its kernel arguments from the host. Other
// devices' memory is not cached either. Returns the latency.
uint64_t MemorySystem::read_from_remote(Owner owner, uint32_t requests) {
  ++counts_.l2_reads;
  count_remote_reads(owner, requests);
  return remote_latency_cycles(owner);
}

// Records that the L2 reads the line from memory. Returns the latency.
uint64_t MemorySystem::read_from_memory(uint64_t line) {
  const uint64_t latency = latency_beyond_l2(line);
  lines_read_.insert(line);
  return latency;
}

void MemorySystem::write_to_memory(uint64_t line, const ByteMask& dirty) {
  const WriteRequests requests = write_requests(dirty);
  if (const Owner owner = owner_of(line); owner != own_) {
    const uint64_t bytes = 64 * requests.bytes64 + 32 * requests.bytes32;
    counts_.remote_write_bytes += bytes;
    if (owner != kHost) counts_.peer_write_bytes[owner] += bytes;
  } else {
    lines_written_.insert(line);
  }
  counts_.memory_writes64 += requests.bytes64;
  counts_.memory_writes32 += requests.bytes32;
  ++counts_.l2_writebacks;
}

inline size_t MemorySystem::l2_find(uint64_t line) {
  if (!may_be_there_.lines().empty()) uncertain_look_ups_ += may_be_there_.forget(line);
  return l2_.find(line);
}

// Makes room for the line, evicting another one if necessary. Returns the slot of the line.
size_t MemorySystem::l2_allocate(uint64_t line) {
  const auto [slot, evicts, evicted] = l2_.allocate(line);
  if (!evicts) return slot;
  ++counts_.l2_evictions;
  if (!evicted.dirty.empty()) {
    ++counts_.l2_eviction_writebacks;
    write_to_memory(evicted.line, evicted.dirty);
  }
  return slot;
}

// Looks up a whole line in the L2 and fetches it if necessary. Returns the latency.
uint64_t MemorySystem::l2_read(uint64_t line) {
  ++counts_.l2_reads;
  const size_t slot = l2_find(line);
  if (slot != kNotFound && l2_.is_full(slot)) {
    ++counts_.l2_hits;
    if (streams_) l2_.expect_no_reuse();
    return parameter::l2_latency_cycles;
  }
  ++counts_.l2_misses;
  ++counts_.memory_reads128;
  l2_.fill(slot != kNotFound ? slot : l2_allocate(line));
  if (streams_) l2_.expect_no_reuse();
  return read_from_memory(line);
}

// A write needs no fetch: the L2 keeps a mask of the bytes that it holds. Of several requests for one line, only the first can
// miss.
void MemorySystem::l2_write(uint64_t line, const ByteMask& bytes, uint32_t requests, bool streams) {
  size_t slot = l2_find(line);
  const bool misses = slot == kNotFound;
  counts_.l1_write_requests += requests;
  counts_.l2_writes += requests;
  counts_.l2_hits += requests - misses;
  counts_.l2_misses += misses;
  if (misses) slot = l2_allocate(line);
  if (streams) l2_.expect_no_reuse();
  l2_.write(slot, bytes);
}

// Looks up a line in an L1 and fetches it if necessary. Returns the latency.
inline uint64_t MemorySystem::read_line(uint32_t l1, uint64_t line) {
  VectorL1& cache = l1_[l1];
  const size_t slot = cache.tags.find(line);
  if (slot == kNotFound) return fetch_line(cache, line);
  if (recording_) note_hit(Fetch::of_code(cache.fetches[slot]));
  return parameter::l1_latency_cycles;
}

uint64_t MemorySystem::fetch_line(VectorL1& l1, uint64_t line) {
  const size_t slot = l1.tags.allocate(line).slot;
  ++counts_.l1_read_requests;
  if (const Owner owner = owner_of(line); owner != own_) {
    l1.fetches[slot] = Fetch{fetch_, FetchedFrom::Remote}.code();
    return read_from_remote(owner, kLineBytes / kRequestBytes);
  }
  const uint64_t latency = l2_read(line);
  l1.fetches[slot] = Fetch{fetch_, source_of(latency)}.code();
  return latency;
}

void MemorySystem::begin_access(const WaveTiming& wave) {
  recording_ = wave.recording ? &wave.recording->owner() : nullptr;
  fetch_ = wave.recording ? wave.recording->fetch_of_last() : 0;
  awaited_ = {};
  waits_for_page_ = false;
}

void MemorySystem::note_hit(Fetch fetch) {
  const bool earlier = fetch.number != fetch_ && recording_->has_fetch(fetch.number);
  if (earlier && fetch.number > awaited_.number) awaited_ = fetch;
}

void MemorySystem::record_access(AccessCost& cost) const {
  cost.fetch = fetch_;
  cost.awaited = awaited_.number;
  cost.awaited_from = awaited_.from;
  cost.waits_for_page = waits_for_page_;
}

// Prefetches into the host CPU's cache the model's own data about the line, which is needed if the line misses in the L1.
void MemorySystem::prefetch_beyond_l1(uint64_t line) const {
  l2_.prefetch(line);
  if (mall_) mall_->prefetch(line);
}

// Loads these lines, counting `look_ups` look-ups; returns the longest latency. Repeated look-ups of a line are only counted:
// they hit and change nothing.
uint64_t MemorySystem::load_lines(uint32_t l1, uint64_t first, uint64_t last, uint64_t look_ups) {
  counts_.l1_accesses += look_ups;
  uint64_t latency = read_line(l1, first);
  if (latency > parameter::l1_latency_cycles) {
    for (uint64_t line = first + 1; line <= last; ++line) prefetch_beyond_l1(line);
  }
  for (uint64_t line = first + 1; line <= last; ++line) latency = std::max(latency, read_line(l1, line));
  return latency;
}

// Each group of lanes looks up the lines that it touches.
uint64_t MemorySystem::load_consecutive(uint32_t l1, const VectorAccess& access) {
  const uint64_t begin = access.first, group_bytes = uint64_t{lanes_per_look_up(access.bytes)} * access.bytes;
  const uint64_t groups = kLanes / lanes_per_look_up(access.bytes), end = begin + groups * group_bytes;
  uint64_t look_ups = groups;  // unless some groups reach into another line
  if (begin % group_bytes != 0 || kLineBytes % group_bytes != 0) [[unlikely]]
    for (uint64_t address = begin; address < end; address += group_bytes)
      look_ups += (address + group_bytes - 1) / kLineBytes - address / kLineBytes;
  return load_lines(l1, begin / kLineBytes, (end - 1) / kLineBytes, look_ups);
}

uint64_t MemorySystem::load_same(uint32_t l1, const VectorAccess& access) {
  const uint64_t address = access.first;
  const uint64_t first = address / kLineBytes, last = (address + access.bytes - 1) / kLineBytes;
  return load_lines(l1, first, last, groups_in(access) * (last - first + 1));
}

// Each group of lanes looks up the lines that it touches. Again, repeated look-ups of a line are only counted.
uint64_t MemorySystem::load_rows(uint32_t l1, const VectorAccess& access) {
  const uint32_t group = lanes_per_look_up(access.bytes);
  const uint64_t group_bytes = uint64_t{access.step} * (group - 1) + access.bytes;
  uint64_t latency = 0, previous = ~uint64_t{0};
  for (uint32_t l = 0; l < kLanes; l += group) {
    const uint64_t begin = access.address[l / kRowLanes] + uint64_t{l % kRowLanes} * access.step;
    const uint64_t last = (begin + group_bytes - 1) / kLineBytes;
    for (uint64_t line = begin / kLineBytes; line <= last; ++line) {
      ++counts_.l1_accesses;
      if (line == previous) continue;
      previous = line;
      latency = std::max(latency, read_line(l1, line));
    }
  }
  return latency;
}

// Looks up the lines that these lanes touch, each line once.
uint64_t MemorySystem::load_lanes(uint32_t l1, const VectorAccess& access, uint64_t lanes) {
  uint64_t latency = 0;
  LineSet lines;
  for_each_lane(lanes, [&](int l) {
    const uint64_t last = (access.address[l] + access.bytes - 1) / kLineBytes;
    for (uint64_t line = access.address[l] / kLineBytes; line <= last; ++line) {
      if (!lines.insert(line)) continue;
      ++counts_.l1_accesses;
      latency = std::max(latency, read_line(l1, line));
    }
  });
  return latency;
}

// Looks up each line that a group of lanes touches, once per group. No lane's access may reach into a second line.
template <uint32_t Group>
uint64_t MemorySystem::load_groups(uint32_t l1, const uint64_t* lines, uint64_t mask) {
  uint64_t latency = 0;
  for (uint32_t begin = 0; begin < kLanes; begin += Group) {
    for (auto remaining = static_cast<uint32_t>(mask >> begin & ones(Group)); remaining;) {
      const uint64_t line = lines[begin + static_cast<uint32_t>(std::countr_zero(remaining))];
      remaining &= ~same_numbers<Group>(lines + begin, line);
      ++counts_.l1_accesses;
      latency = std::max(latency, read_line(l1, line));
    }
  }
  return latency;
}

uint64_t MemorySystem::load_any(uint32_t l1, const VectorAccess& access) {
  alignas(64) uint64_t lines[kLanes];
  if (!find_lines(access, lines)) [[unlikely]] {
    uint64_t latency = 0;
    const uint32_t group = lanes_per_look_up(access.bytes);
    for (uint32_t l = 0; l < kLanes; l += group)
      latency = std::max(latency, load_lanes(l1, access, access.mask & ones(group) << l));
    return latency;
  }
  return lanes_per_look_up(access.bytes) == kWideGroup ? load_groups<kWideGroup>(l1, lines, access.mask)
                                                       : load_groups<kNarrowGroup>(l1, lines, access.mask);
}

uint64_t MemorySystem::load(uint32_t l1, const VectorAccess& access) {
  counts_.l1_lanes_reading += std::popcount(access.mask);
  switch (access.pattern) {
    case LanePattern::Consecutive: return load_consecutive(l1, access);
    case LanePattern::Same: return load_same(l1, access);
    case LanePattern::Rows: return load_rows(l1, access);
    case LanePattern::Any: return load_any(l1, access);
  }
  return 0;
}

void MemorySystem::store_consecutive(const Op& op, const VectorAccess& access) {
  const uint64_t begin = access.first, end = begin + uint64_t{access.bytes} * kLanes;
  for (uint64_t line = begin / kLineBytes; line * kLineBytes < end; ++line) {
    const uint64_t from = std::max(begin, line * kLineBytes), until = std::min(end, (line + 1) * kLineBytes);
    const uint64_t requests = (until - 1) / kRequestBytes - from / kRequestBytes + 1;
    l2_write(line, ByteMask::range(from % kLineBytes, until - from), static_cast<uint32_t>(requests), op.nt);
  }
}

uint64_t MemorySystem::store(const Op& op, const VectorAccess& access) {
  counts_.l1_lanes_writing += std::popcount(access.mask);
  counts_.l1_accesses += store_look_ups(access);
  if (access.consecutive()) {
    store_consecutive(op, access);
  } else {
    coalesce(access, [&](const WriteRequest& request) { l2_write(request.block / 2, in_line(request), 1, op.nt); });
  }
  return parameter::l2_latency_cycles;  // the L2 accepts the store, whether it has the line or not
}

// Counts per block because a dispatch cannot be faster than the updates to its most frequently updated block.
void MemorySystem::count_atomic_request(const Op& op, const VectorAccess& access, uint64_t block, bool may_share_words) {
  const uint64_t turns = may_share_words ? updates_of_one_word(access, block) : 1;
  updates_[block] += parameter::atomic_request_cycles + (turns - 1) * parameter::atomic_word_cycles;
  ++(op.returns ? counts_.l1_atomics_with_return : counts_.l1_atomics_without_return);
  ++counts_.l2_atomics;
}

uint64_t MemorySystem::atomic(const Op& op, const VectorAccess& access) {
  (op.returns ? counts_.l1_lanes_atomic_with_return : counts_.l1_lanes_atomic_without_return) += std::popcount(access.mask);
  uint64_t latency = 0;
  const bool may_share_words = !access.consecutive();
  coalesce(access, [&](const WriteRequest& request) {
    count_atomic_request(op, access, request.block, may_share_words);
    const uint64_t number = request.block / 2;
    if (const Owner owner = owner_of(number); owner != own_) {
      count_remote_reads(owner, 1);
      latency = std::max(latency, remote_latency_cycles(owner));
      return;
    }
    size_t slot = l2_find(number);
    uint64_t its_latency = parameter::l2_latency_cycles;
    if (slot != kNotFound && l2_.has(slot, in_line(request))) {
      ++counts_.l2_hits;
    } else {
      ++counts_.l2_misses;
      ++counts_.memory_reads128;
      its_latency = read_from_memory(number);
      if (slot == kNotFound) slot = l2_allocate(number);
      l2_.fill(slot);
    }
    l2_.write(slot, in_line(request));
    latency = std::max(latency, its_latency);
  });
  return latency;
}

void MemorySystem::access_lds(WaveTiming& wave, const Op& op, const VectorAccess& access) {
  const LdsPasses passes = lds_patterns_.passes(op, access);
  counts_.lds_lanes += std::popcount(access.mask);
  counts_.lds_active_cycles += passes.cycles;
  counts_.lds_conflict_cycles += passes.bank_conflicts;
  counts_.lds_address_conflict_cycles += passes.cycles - passes.passes - passes.bank_conflicts;
  if (access.kind == AccessKind::Atomic && op.returns) counts_.lds_atomic_return_cycles += passes.cycles;
  if (AccessCost* cost = wave.cost()) add(cost->lds_cycles, passes.cycles);
  wave.units.lds += std::max<uint64_t>(parameter::lds_issue_cycles, passes.cycles);
  wave.scalar_done = std::max(wave.scalar_done, wave.clock + parameter::lds_latency_cycles + passes.cycles);
}

uint64_t MemorySystem::global(uint32_t l1, const Op& op, const VectorAccess& access) {
  switch (access.kind) {
    case AccessKind::Load: streams_ = op.nt; return load(l1, access);
    case AccessKind::Store: return store(op, access);
    case AccessKind::Atomic: return atomic(op, access);
  }
  return 0;
}

// Private memory is interleaved: with 64 lanes, dword i of lane l is at offset 256 * i + 4 * l of the wave's share, so lanes at
// the same offset are contiguous (LLVM AMDGPUUsage, "Scratch memory swizzling"). A wide access becomes one access per dword.
uint64_t MemorySystem::scratch(const Wave& wave, const Op& op, const VectorAccess& access) {
  const uint64_t dword_row = 4 * static_cast<uint64_t>(wave.lane_count());
  const uint64_t share = (wave.scratch_bytes + 3) / 4 * dword_row;
  const uint64_t base = kScratchRegion + (wave.group->slot * max_waves_in_group() + wave.index_in_group) * share;
  uint64_t latency = 0;
  for (uint32_t done = 0; done < access.bytes; done += 4) {
    std::array<uint64_t, kLanes> addresses;
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t offset = access.address[l] + done;
      addresses[l] = base + offset / 4 * dword_row + 4 * l + offset % 4;
    }
    const uint32_t bytes = std::min(4u, access.bytes - done);
    latency = std::max(
        latency, global(wave.timing->l1, op, access_to(Space::Scratch, access.kind, bytes, access.mask, addresses.data())));
  }
  return latency;
}

// Returns how long the translation takes. Missing translations are fetched in parallel. Private memory occupies few pages,
// whose translations are assumed to be present.
uint64_t MemorySystem::translate(uint32_t l1, const VectorAccess& access) {
  const uint32_t misses = tlb_[l1].misses(access);
  if (misses == 0) [[likely]]
    return 0;
  counts_.l1_tlb_misses += misses;
  waits_for_page_ = true;
  return parameter::l1_tlb_miss_cycles;
}

void MemorySystem::vector_access(const Wave& wave, const Op& op, const VectorAccess& access) {
  WaveTiming& timing = *wave.timing;
  if (access.space == Space::Lds) return access_lds(timing, op, access);
  const AccessCostRecorder cost(counts_, timing);
  begin_access(timing);
  const uint64_t latency =
      access.space == Space::Scratch ? scratch(wave, op, access) : translate(timing.l1, access) + global(timing.l1, op, access);
  complete_vector(timing, op, latency);
  if (AccessCost* recorded = timing.cost()) record_access(*recorded);
}

// On a miss, the scalar cache requests 64 bytes from the L2, which requests them from memory if necessary. Returns the latency.
uint64_t MemorySystem::scalar_read(uint64_t scalar_line) {
  const uint64_t address = scalar_line * kScalarLineBytes;
  const ByteMask bytes = ByteMask::range(address % kLineBytes, kScalarLineBytes);
  ++counts_.scalar_misses;
  if (const Owner owner = owner_of(address / kLineBytes); owner != own_) return read_from_remote(owner, 1);
  ++counts_.l2_reads;
  const size_t slot = l2_find(address / kLineBytes);
  if (slot != kNotFound && l2_.has(slot, bytes)) {
    ++counts_.l2_hits;
    return parameter::l2_latency_cycles;
  }
  ++counts_.l2_misses;
  ++counts_.memory_reads64;
  l2_.add(slot != kNotFound ? slot : l2_allocate(address / kLineBytes), bytes);
  return read_from_memory(address / kLineBytes);
}

void MemorySystem::scalar_access(WaveTiming& wave, uint64_t address, uint32_t bytes) {
  ScalarCache& cache = scalar_[scalar_cache_of(wave.cu)];
  const uint64_t misses = counts_.scalar_misses, from_memory = counts_.memory_reads64, from_remote = counts_.remote_reads64;
  uint64_t latency = parameter::scalar_latency_cycles;
  begin_access(wave);
  for (uint64_t line = address / kScalarLineBytes; line <= (address + bytes - 1) / kScalarLineBytes; ++line) {
    ++counts_.scalar_requests;
    if (const size_t slot = cache.tags.find(line); slot != kNotFound) {
      if (recording_) note_hit(Fetch::of_code(cache.fetches[slot]));
      continue;
    }
    const size_t slot = cache.tags.allocate(line).slot;
    const uint64_t remote_reads = counts_.remote_reads64, its_latency = scalar_read(line);
    const FetchedFrom from = counts_.remote_reads64 > remote_reads ? FetchedFrom::Remote : source_of(its_latency);
    cache.fetches[slot] = Fetch{fetch_, from}.code();
    latency = std::max(latency, its_latency);
  }
  if (AccessCost* cost = wave.cost()) {
    record_access(*cost);
    cost->l2_reads = static_cast<uint8_t>(counts_.scalar_misses - misses);
    cost->remote_reads = static_cast<uint8_t>(counts_.remote_reads64 - from_remote);
    cost->memory_reads = static_cast<uint8_t>(counts_.memory_reads64 - from_memory - cost->remote_reads);
  }
  ++counts_.scalar_loads[std::countr_zero(bytes) - std::countr_zero(sizeof(uint32_t))];
  wave.scalar_done = std::max(wave.scalar_done, wave.clock + latency);
}

void MemorySystem::wait(WaveTiming& wave, const WaitCounts& limits) {
  uint64_t until = wave.clock;
  // Waiting until n accesses are left means waiting for the access issued just before the latest n. (If more are outstanding
  // than there is room for, the oldest have long since completed.)
  constexpr uint32_t room = WaveTiming::kOutstanding;
  if (wave.vector_issued > limits.vector && limits.vector < room) {
    until = std::max(until, (*wave.vector_done)[(wave.vector_issued - 1 - limits.vector) % room]);
  }
  // Scalar loads and LDS accesses may complete in any order, so only a wait for all of them has a known end; any other wait is
  // assumed to cost nothing.
  if (limits.scalar == 0) until = std::max(until, wave.scalar_done);
  if (limits.stores == 0) until = std::max(until, wave.stores_done);
  wave.clock = until;
}

}  // namespace rpd
