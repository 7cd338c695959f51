// Compares the device's caches with plain ones that examine every line, every byte and every lane, on random accesses; and
// accesses whose lanes have a pattern with the same accesses as lists of addresses.
//
//     rpd_cache_probe SEED      prints what differs and ends with 1, or prints how much was compared
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "memory/cache.h"
#include "memory/distinct_lines.h"
#include "memory/mall.h"
#include "timing/lds_banks.h"
#include "timing/memory_system.h"
#include "timing_parameters.inc.h"

namespace {

using namespace rpd;

constexpr uint32_t kWays = 16, kBytes = 4 * kWays * kLineBytes;  // four sets
constexpr int kSteps = 60'000;
std::mt19937_64 generator;

uint64_t below(uint64_t limit) { return generator() % limit; }

[[noreturn]] void fail(const char* subject, int step) {
  std::printf("%s differs at step %d\n", subject, step);
  std::exit(1);
}
void expect(bool same, const char* subject, int step) {
  if (!same) fail(subject, step);
}

// A set as a list: the line to replace first is in front. Free ways are filled from the first one.
struct PlainSet {
  struct Line {
    uint64_t number;
    size_t way;
    bool last_resort;  // expected not to be used again: goes before all others, lower ways first
    std::set<int> valid, dirty;
  };
  std::vector<Line> lines;

  Line* find(uint64_t number) {
    const auto entry = std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.number == number; });
    if (entry == lines.end()) return nullptr;
    std::rotate(entry, entry + 1, lines.end());
    lines.back().last_resort = false;
    return &lines.back();
  }
  Line& allocate(uint64_t number, bool& evicts, Line& evicted) {
    size_t way = lines.size();
    evicts = lines.size() == kWays;
    if (evicts) {
      auto victim = lines.end();
      for (auto entry = lines.begin(); entry != lines.end(); ++entry)
        if (entry->last_resort && (victim == lines.end() || entry->way < victim->way)) victim = entry;
      if (victim == lines.end()) victim = lines.begin();
      evicted = *victim;
      way = victim->way;
      lines.erase(victim);
    }
    lines.push_back({number, way, false, {}, {}});
    return lines.back();
  }
};

ByteMask mask_of(const std::set<int>& bytes) {
  ByteMask mask;
  for (const int byte : bytes) (byte < 64 ? mask.low : mask.high) |= uint64_t{1} << byte % 64;
  return mask;
}
bool equal(const ByteMask& a, const ByteMask& b) { return a.low == b.low && a.high == b.high; }

void compare_caches() {
  Cache<kWays> cache(kBytes);
  std::map<uint64_t, PlainSet> sets;
  const auto set_of = [](uint64_t line) { return (line ^ line >> 2 ^ line >> 4) & 3; };
  for (int step = 0; step < kSteps; ++step) {
    const uint64_t line = below(30) * 4 + below(4);
    PlainSet& set = sets[set_of(line)];
    size_t slot = cache.find(line);
    PlainSet::Line* plain = set.find(line);
    expect((slot != kNotFound) == (plain != nullptr), "presence", step);
    if (!plain) {
      bool evicts;
      PlainSet::Line evicted{};
      plain = &set.allocate(line, evicts, evicted);
      const auto allocated = cache.allocate(line);
      slot = allocated.slot;
      expect(allocated.evicts == evicts, "eviction", step);
      if (evicts) expect(allocated.evicted.line == evicted.number, "the line evicted", step);
      if (evicts) expect(equal(allocated.evicted.dirty, mask_of(evicted.dirty)), "dirty bytes evicted", step);
    }
    const int first = static_cast<int>(below(kLineBytes)), count = static_cast<int>(1 + below(kLineBytes - first));
    const ByteMask bytes = ByteMask::range(first, count);
    std::set<int> numbers;
    for (int byte = first; byte < first + count; ++byte) numbers.insert(byte);
    expect(equal(bytes, mask_of(numbers)), "a range of bytes", step);
    switch (below(8)) {
      case 0:
        cache.fill(slot);
        for (int byte = 0; byte < 128; ++byte) plain->valid.insert(byte);
        break;
      case 1:
        cache.add(slot, bytes);
        plain->valid.insert(numbers.begin(), numbers.end());
        break;
      case 2:
      case 3:
        cache.write(slot, bytes);
        plain->valid.insert(numbers.begin(), numbers.end());
        plain->dirty.insert(numbers.begin(), numbers.end());
        break;
      case 4:
        cache.expect_no_reuse();
        plain->last_resort = true;
        break;
      case 5:
        cache.make_stale(line);
        plain->valid = plain->dirty;
        break;
      default: break;
    }
    expect(cache.is_full(slot) == (plain->valid.size() == kLineBytes), "fullness", step);
    expect(cache.has(slot, bytes) == std::includes(plain->valid.begin(), plain->valid.end(), numbers.begin(), numbers.end()),
           "valid bytes", step);
    if (below(400) != 0) continue;
    std::map<uint64_t, std::set<int>> dirty;
    for (auto& [_, set] : sets)
      for (auto& each : set.lines)
        if (!each.dirty.empty()) dirty[each.number].swap(each.dirty);
    cache.write_back([&](uint64_t written, const ByteMask& mask) {
      expect(equal(mask, mask_of(dirty[written])), "dirty bytes written back", step);
      dirty.erase(written);
    });
    expect(dirty.empty(), "what is written back", step);
    if (below(4) == 0) cache.invalidate(), sets.clear();
  }
}

// The Infinity Cache with two sets: the first free way, else the least recently used one.
void compare_mall() {
  Mall mall(2 * Mall::kWays * kLineBytes);
  std::map<uint64_t, std::vector<uint64_t>> sets;
  for (int step = 0; step < kSteps; ++step) {
    const uint64_t line = 2 + below(60);
    auto& set = sets[(line ^ line / 2) % 2];
    const auto slot = std::find(set.begin(), set.end(), line);
    const bool present = slot != set.end();
    expect(mall.holds(line) == present, "what the Infinity Cache holds", step);
    expect(mall.touch(line) == present, "a hit in the Infinity Cache", step);
    if (present) set.erase(slot);
    else if (set.size() == Mall::kWays) set.erase(set.begin());
    set.push_back(line);
  }
}

void compare_logs() {
  DistinctLines log;
  std::vector<uint64_t> order;
  std::set<uint64_t> logged;
  for (int step = 0; step < kSteps; ++step) {
    const uint64_t line = below(2) ? below(5000) : (below(50) << 40) + below(200);
    expect(log.contains(line) == logged.contains(line), "what a log contains", step);
    const bool fresh = logged.insert(line).second;
    expect(log.insert(line) == fresh, "a log's new line", step);
    if (fresh) order.push_back(line);
    if (step % 10'000 == 9'999) expect(log.lines() == order, "a log's order", step);
    if (step % 20'000 == 19'999) log.clear(), order.clear(), logged.clear();
  }
}

// Bank by bank: the distinct words of each, in passes of as many lanes as take 128 bytes.
LdsPasses plain_passes(const VectorAccess& access) {
  LdsPasses out;
  const uint32_t words = std::max(1u, access.bytes / 4), lanes = std::max(1u, 32 / words);
  for (uint32_t first = 0; first < kLanes; first += lanes) {
    std::map<uint64_t, std::multiset<uint64_t>> banks;
    for (uint32_t l = first; l < std::min<uint32_t>(first + lanes, kLanes); ++l)
      for (uint32_t w = 0; w < words; ++w)
        if (access.mask >> l & 1) banks[(access.address[l] / 4 + w) % 32].insert(access.address[l] / 4 + w);
    if (banks.empty()) continue;
    uint64_t max_words = 0, max_accesses = 0;
    for (const auto& [_, all] : banks) {
      max_accesses = std::max<uint64_t>(max_accesses, all.size());
      max_words = std::max<uint64_t>(max_words, std::set<uint64_t>(all.begin(), all.end()).size());
    }
    ++out.passes;
    out.cycles += access.kind == AccessKind::Atomic ? max_accesses : max_words;
    out.bank_conflicts += max_words - 1;
  }
  return out;
}

void compare_lds() {
  LdsPatterns patterns;
  std::array<uint64_t, kLanes> address;
  uint64_t mask = ~uint64_t{0}, shape = 0;
  uint32_t bytes = 4;
  std::array<uint64_t, kLanes> relative{};
  for (int step = 0; step < kSteps / 10; ++step) {
    if (below(3) == 0) {  // else the same pattern, moved by some words
      shape = below(4);
      bytes = 1u << below(5);
      mask = below(2) ? ~uint64_t{0} : generator();
      const uint64_t stride = 4 * below(40);
      for (int l = 0; l < kLanes; ++l)
        relative[l] = shape == 0 ? bytes * l : shape == 1 ? 0 : shape == 2 ? stride * l : below(8192);
    }
    const uint64_t base = 4 * below(4096);
    for (int l = 0; l < kLanes; ++l) address[l] = base + relative[l];
    Op op;
    op.index = static_cast<uint32_t>(below(2));
    const auto kind = below(4) ? AccessKind::Load : AccessKind::Atomic;
    const VectorAccess access{kind, Space::Lds, bytes, mask, address.data()};
    const LdsPasses by_pattern = patterns.passes(op, access), plain = plain_passes(access);
    expect(by_pattern.passes == plain.passes && by_pattern.cycles == plain.cycles &&
               by_pattern.bank_conflicts == plain.bank_conflicts,
           "the passes of an LDS access", step);
  }
}

// An access with a pattern, and the addresses that it stands for.
struct PatternedAccess {
  std::array<uint64_t, kRows> rows{};
  std::array<uint64_t, kLanes> lanes{};
  VectorAccess patterned, listed;

  PatternedAccess(AccessKind kind, Space space, uint64_t room) {
    constexpr uint32_t sizes[] = {1, 2, 4, 8, 12, 16};
    const bool few = below(2);  // accesses that differ little from each other
    const uint32_t bytes = few ? 4 : sizes[below(6)];
    const auto pattern = few ? LanePattern::Rows : static_cast<LanePattern>(1 + below(3));
    const uint64_t unit = below(2) ? bytes : 1;  // aligned or not
    const uint64_t step = pattern == LanePattern::Same || (pattern == LanePattern::Rows && below(3) == 0) ? 0 : bytes;
    const bool crosses = space == Space::Global && below(3) == 0;  // into another page
    const uint64_t page = uint64_t{parameter::l1_tlb_page_bytes} * (1 + below(1000));
    const uint64_t base = crosses ? page - below(64) * unit : below(few ? 2 : room) * unit;
    for (uint64_t& row : rows) row = pattern == LanePattern::Rows ? base + below(few ? 2 : 40) * 24 * unit : base;
    for (int l = 0; l < kLanes; ++l) {
      const int first = pattern == LanePattern::Rows ? l / kRowLanes * kRowLanes : 0;
      lanes[l] = rows[first / kRowLanes] + static_cast<uint64_t>(l - first) * step;
    }
    const uint64_t mask = pattern == LanePattern::Same && below(2) ? generator() | 1 : ~uint64_t{0};
    listed = {kind, space, bytes, mask, lanes.data()};
    patterned = {kind, space, bytes, mask, rows.data(), pattern, base, static_cast<uint32_t>(step)};
  }
  PatternedAccess(const PatternedAccess&) = delete;
};

// One CU's memory system, and a wave on that CU.
struct ObservedWave {
  MemorySystem memory;
  Mall mall{0};
  Wave wave;
  WaveTiming timing;
  WaveTiming::Completions done{};

  ObservedWave() {
    timing.vector_done = &done;
    wave.timing = &timing;
    memory.begin(nullptr, mall);
  }
};

void compare_patterns() {
  ObservedWave by_pattern, by_lane;
  Semantics load{}, store{};
  load.unit = Unit::VectorLoad;
  store.unit = Unit::VectorStore;
  for (int step = 0; step < kSteps / 10; ++step) {
    const bool stores = below(2), notes = step > kSteps / 20, in_lds = below(4) == 0;
    if (step == kSteps / 20)
      for (ObservedWave* observed : {&by_pattern, &by_lane}) observed->memory.start_tracking_touched_lines();
    const PatternedAccess access(stores ? AccessKind::Store : AccessKind::Load, in_lds ? Space::Lds : Space::Global,
                                 in_lds ? 1 << 10 : 1 << 22);
    Op op;
    op.semantics = stores ? &store : &load;
    op.nt = below(4) == 0;
    const std::pair<ObservedWave*, const VectorAccess*> both[] = {{&by_pattern, &access.patterned}, {&by_lane, &access.listed}};
    for (const auto& [observed, its_access] : both) {
      if (notes) observed->memory.note_lines(*its_access);
      observed->memory.vector_access(observed->wave, op, *its_access);
      ++observed->timing.clock;
    }
    for (int l = 0; l < kLanes; ++l) expect(access.patterned.at(l) == access.lanes[l], "a lane's address", step);
    expect(std::memcmp(&by_pattern.memory.counts(), &by_lane.memory.counts(), sizeof(MemoryCounts)) == 0,
           "what a patterned access counts", step);
    expect(by_pattern.done == by_lane.done, "when a patterned access completes", step);
    expect(by_pattern.timing.scalar_done == by_lane.timing.scalar_done, "when a patterned LDS access completes", step);
  }
  const TouchedLines &patterned = by_pattern.memory.touched_lines(), &plain = by_lane.memory.touched_lines();
  expect(patterned.lines_read() == plain.lines_read() && patterned.lines_written() == plain.lines_written(),
         "the lines touched", kSteps);
  expect(by_pattern.memory.lines_read() == by_lane.memory.lines_read(), "the lines read", kSteps);
}

}  // namespace

int main(int, char** given) {
  generator.seed(std::strtoull(given[1], nullptr, 10));
  compare_caches();
  compare_mall();
  compare_logs();
  compare_lds();
  compare_patterns();
  std::printf("%d steps\n", kSteps);
}
