// The memory system of one XCD: a vector L1 for each CU, a scalar cache for every two CUs (on gfx1030, where a WGP counts as a
// CU, two L1s and one scalar cache each) and the L2 behind them. Determines the latency that each access would have.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "exec/instruction_events.h"
#include "memory/cache.h"
#include "memory/distinct_lines.h"
#include "memory/mall.h"
#include "memory/written_lines.h"
#include "timing/l1_tlb.h"
#include "timing/lds_banks.h"
#include "timing/memory_counts.h"
#include "timing/touched_lines.h"
#include "timing/wave_timing.h"
#include "timing_parameters.inc.h"

namespace rpd {

// The cycles for which atomics occupy each 64-byte block. [address / 64]
using BlockUpdates = std::unordered_map<uint64_t, uint64_t>;

// A cache used only by loads: its tags, and which fetch brought in each line.
template <uint32_t Ways>
struct ReadCache {
  explicit ReadCache(size_t lines) : tags(lines), fetches(lines) {}
  Tags<Ways> tags;
  ZeroedArray<uint32_t> fetches;  // Fetch::code(), by the line's slot
};
using VectorL1 = ReadCache<parameter::l1_ways>;
using ScalarCache = ReadCache<parameter::scalar_cache_ways>;
using L2 = Cache<parameter::l2_ways>;

constexpr uint32_t kScalarLineBytes = 64;

class MemorySystem {
 public:
  MemorySystem();

  // An access by the wave's most recently issued instruction. The wave's clock shows the time of issue.
  void vector_access(const Wave& wave, const Op& op, const VectorAccess& access);
  void scalar_access(WaveTiming& wave, uint64_t address, uint32_t bytes);
  // Waits until at most this many accesses of each kind are outstanding.
  static void wait(WaveTiming& wave, const WaitCounts& limits);

  // Begins a dispatch: whatever the L1s hold is now stale. The L2 keeps its lines, since on gfx942 the L2s are coherent for the
  // device's own memory (see written_elsewhere()). `map` says which addresses belong to the device's own memory; without a map,
  // all of them do. During the dispatch, `mall` keeps the contents that it had before.
  void begin(const AllocationMap* map, const Mall& mall);
  // Ends a dispatch; if `releases` is set, dirty L2 lines are written to memory.
  void end(bool releases);
  // From now on, the lines that accesses touch are also recorded.
  void start_tracking_touched_lines();
  void note_lines(const VectorAccess& access);
  void note_scalar_lines(uint64_t address, uint32_t bytes) { note_bytes(AccessKind::Load, address, bytes); }
  // Stops modelling the caches until the next dispatch begins: only what can be counted without them is counted.
  void stop_modelling_caches();
  void count_access(const Wave& wave, const Op& op, const VectorAccess& access);
  void count_scalar_access(uint64_t address, uint32_t bytes);
  // Ends a dispatch for which stop_modelling_caches() was called; the L2 then holds roughly the most recently noted lines.
  void end_without_cache_models();
  // The number of L2 look-ups whose outcome is uncertain because of an earlier dispatch that ended with
  // end_without_cache_models().
  uint64_t uncertain_look_ups() const { return uncertain_look_ups_; }
  // Between dispatches: empties the L2 and the TLBs. (L1s and scalar caches are empty at the start of each dispatch anyway.)
  void invalidate();
  // While no wave of this context executes: another XCD, or a copy, has written these lines.
  // `writer` is this memory system if `written` includes its own writes, which are ignored; otherwise it is null.
  void written_elsewhere(const WrittenLines& written, const MemorySystem* writer);
  void written_elsewhere(uint64_t address, uint64_t bytes);

  const MemoryCounts& counts() const { return counts_; }
  // The counts up to the call of start_tracking_touched_lines(), and the lines touched since then.
  const MemoryCounts& before_tracking() const { return before_tracking_; }
  const TouchedLines& touched_lines() const { return touched_lines_; }
  // The distinct lines that the L2 read from memory, and the distinct lines that it wrote to memory.
  const std::vector<uint64_t>& lines_read() const { return lines_read_.lines(); }
  const DistinctLines& lines_written() const { return lines_written_; }
  const BlockUpdates& updates() const { return updates_; }

 private:
  void note_bytes(AccessKind kind, uint64_t address, uint64_t bytes);
  void note_lanes(const VectorAccess& access);
  void count_atomic(WaveTiming& wave, const Op& op, const VectorAccess& access);
  void fill_l2(const std::vector<uint64_t>& lines, double share);
  uint64_t read_line(uint32_t l1, uint64_t line);
  uint64_t fetch_line(VectorL1& l1, uint64_t line);
  void begin_access(const WaveTiming& wave);
  void note_hit(Fetch fetch);
  void record_access(AccessCost& cost) const;
  uint64_t translate(uint32_t l1, const VectorAccess& access);
  uint64_t load(uint32_t l1, const VectorAccess& access);
  void prefetch_beyond_l1(uint64_t line) const;
  uint64_t load_lines(uint32_t l1, uint64_t first, uint64_t last, uint64_t look_ups);
  uint64_t load_consecutive(uint32_t l1, const VectorAccess& access);
  uint64_t load_same(uint32_t l1, const VectorAccess& access);
  uint64_t load_rows(uint32_t l1, const VectorAccess& access);
  uint64_t load_any(uint32_t l1, const VectorAccess& access);
  template <uint32_t Group>
  uint64_t load_groups(uint32_t l1, const uint64_t* lines, uint64_t mask);
  uint64_t load_lanes(uint32_t l1, const VectorAccess& access, uint64_t lanes);
  uint64_t store(const Op& op, const VectorAccess& access);
  void store_consecutive(const Op& op, const VectorAccess& access);
  uint64_t atomic(const Op& op, const VectorAccess& access);
  void count_atomic_request(const Op& op, const VectorAccess& access, uint64_t block, bool may_share_words);
  uint64_t global(uint32_t l1, const Op& op, const VectorAccess& access);
  uint64_t scratch(const Wave& wave, const Op& op, const VectorAccess& access);
  void access_lds(WaveTiming& wave, const Op& op, const VectorAccess& access);
  uint64_t scalar_read(uint64_t scalar_line);
  Owner owner_of(uint64_t line);
  uint64_t latency_beyond_l2(uint64_t line) const;
  void count_remote_reads(Owner owner, uint32_t requests);
  uint64_t read_from_remote(Owner owner, uint32_t requests);
  uint64_t l2_read(uint64_t line);
  void l2_write(uint64_t line, const ByteMask& bytes, uint32_t requests, bool streams);
  size_t l2_find(uint64_t line);
  size_t l2_allocate(uint64_t line);
  uint64_t read_from_memory(uint64_t line);
  void write_to_memory(uint64_t line, const ByteMask& dirty);

  std::vector<VectorL1> l1_;  // [l1 of the XCD]
  std::vector<L1Tlb> tlb_;    // the same index
  std::vector<ScalarCache> scalar_;  // [pair of CUs, or a single CU whose partner is disabled]
  L2 l2_;
  MemoryCounts counts_;
  MemoryCounts before_tracking_;
  DistinctLines may_be_there_;  // lines that may or may not be in the L2
  uint64_t uncertain_look_ups_ = 0;
  TouchedLines touched_lines_;
  DistinctLines lines_read_;
  DistinctLines lines_written_;
  const AllocationMap* map_ = nullptr;
  Owner own_ = 0;  // the device
  const Mall* mall_ = nullptr;
  std::array<OwnedRange, 8> placements_;  // found recently, by address
  BlockUpdates updates_;
  LdsPatterns lds_patterns_;
  bool streams_ = false;  // the current access is non-temporal
  // If the current access is recorded: the recording, the access's fetch number, and the latest fetch among the lines that it
  // found in a cache.
  const CuRecording* recording_ = nullptr;
  uint32_t fetch_ = 0;
  Fetch awaited_;
  bool waits_for_page_ = false;
};

}  // namespace rpd
