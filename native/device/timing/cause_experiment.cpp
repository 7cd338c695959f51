#include "timing/cause_experiment.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr uint64_t kMostEntries = 200'000;     // of a recording that each experiment replays
constexpr uint64_t kMostReplayed = 20'000'000; // instructions in all, which takes a second or two
constexpr size_t kFewestChosen = 4, kMostChosen = 8;
constexpr size_t kMostInstructions = 24;
constexpr double kNoticeable = 0.002;  // of the duration
constexpr double kUnlimited = 1e12;    // bytes per cycle

// How many of the workgroups to replay: more than are resident at once, so that others follow them.
size_t groups_to_replay(const CuTrace& trace, uint32_t resident_groups) {
  size_t groups = 0;
  uint64_t entries = 0;
  for (const CuTrace::Group& group : trace.groups()) {
    if (groups > 2 * size_t{resident_groups} && entries >= kMostEntries) break;
    for (const auto& wave : group) entries += wave->entries().size();
    ++groups;
  }
  return groups;
}

template <class F>
void for_each_entry(const CuTrace& trace, size_t groups, F f) {
  for (size_t i = 0; i < std::min(groups, trace.groups().size()); ++i) {
    for (const auto& wave : trace.groups()[i])
      for (const TraceEntry& entry : wave->entries()) f(entry);
  }
}

uint32_t most_resident_groups(const CuTrace& trace) {
  const size_t waves = trace.groups().empty() ? 1 : std::max<size_t>(1, trace.groups().front().size());
  return static_cast<uint32_t>(std::max<size_t>(1, parameter::waves_per_simd * parameter::simds_per_cu / waves));
}

// What is left of accesses' demands if some causes are taken away, as shares.
struct Left {
  double look_ups = 1, l2 = 1, memory = 1, lds = 1;
};

class Experiments {
 public:
  Experiments(const DurationParts& parts, double share_of_slots) : parts_(parts), share_of_slots_(share_of_slots) {
    for (const DurationParts::ReplayedCu& cu : parts.replayed) {
      const CuTrace& trace = cu.sample.first.trace;
      groups_.push_back(groups_to_replay(trace, cu.surroundings.resident_groups));
      for_each_entry(trace, groups_.back(), [this](const TraceEntry&) { ++entries_; });
    }
    cycles_ = replayed({});
  }

  uint64_t entries() const { return entries_; }

  uint64_t ns(const Idealisation& ideal) const {
    if (ideal.causes == 0 && !ideal.instruction) return parts_.duration_ns;
    const double cus = ideal.removes(Cause::Imbalance) ? parts_.mean_cu : parts_.busiest_cu;
    double cycles = cycles_ > 0 ? cus * replayed(ideal) / cycles_ : cus;
    if (ideal.removes(Cause::SmallGrid)) cycles *= share_of_slots_;
    const uint64_t busy = std::max(static_cast<uint64_t>(cycles), least(ideal));
    const bool no_release = ideal.removes(Cause::MemoryBandwidth) || ideal.removes(Cause::BeyondL2);
    const uint64_t release = no_release ? 0 : parts_.release_cycles;
    const uint64_t launch = ideal.removes(Cause::LaunchOverhead) ? 0 : parameter::launch_overhead_ns;
    return std::min(parts_.duration_ns, launch + (busy + release) * 1000 / parameter::clock_mhz);
  }

  // The instructions that access memory, those executed most first.
  std::vector<const Op*> accesses() const {
    std::unordered_map<const Op*, uint64_t> times;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for_each_entry(parts_.replayed[i].sample.first.trace, groups_[i], [&](const TraceEntry& entry) {
        const Unit unit = entry.op->semantics->unit;
        if (unit == Unit::Smem || unit == Unit::Lds || issue_cause(unit) == Cause::AddressIssue) ++times[entry.op];
      });
    }
    std::vector<std::pair<const Op*, uint64_t>> sorted(times.begin(), times.end());
    std::ranges::sort(sorted, [](const auto& one, const auto& other) {
      return one.second != other.second ? one.second > other.second : one.first->index < other.first->index;
    });
    std::vector<const Op*> most;
    for (const auto& [op, count] : sorted) most.push_back(op);
    most.resize(std::min(most.size(), kMostInstructions));
    return most;
  }

 private:
  // Cycles of all replayed CUs, one after the other.
  double replayed(const Idealisation& ideal) const {
    double sum = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Sample& sample = parts_.replayed[i].sample;
      CuSurroundings around = idealised(parts_.replayed[i].surroundings, sample.first.trace, ideal);
      around.most_groups = groups_[i];
      InstructionCache instructions = *parts_.instructions;
      sum += static_cast<double>(simulate_cu(sample.first.trace, around, sample.costs, instructions, nullptr, ideal).cycles);
    }
    return sum;
  }

  static CuSurroundings idealised(CuSurroundings around, const CuTrace& trace, const Idealisation& ideal) {
    if (ideal.removes(Cause::L2Bandwidth)) around.l2_read_bytes_per_cycle = around.l2_write_bytes_per_cycle = kUnlimited;
    if (ideal.removes(Cause::MemoryBandwidth) || ideal.removes(Cause::BeyondL2))
      around.memory_read_bytes_per_cycle = around.memory_write_bytes_per_cycle = kUnlimited;
    if (ideal.removes(Cause::BeyondL2)) around.memory_latency_cycles = parameter::l2_latency_cycles;
    if (ideal.removes(Cause::AtomicContention)) around.atomic_cycles = 0;
    if (ideal.removes(Cause::HostMemory)) around.host_bytes_per_cycle = kUnlimited;
    if (ideal.removes(Cause::FewWaves)) around.resident_groups = std::max(around.resident_groups, most_resident_groups(trace));
    return around;
  }

  // What is left of the demands of the replayed accesses.
  Left left(const Idealisation& ideal) const {
    constexpr uint32_t relevant =
        Idealisation::bit(Cause::Uncoalesced) | Idealisation::bit(Cause::BankConflicts) | Idealisation::bit(Cause::Scratch);
    if (!(ideal.causes & relevant)) return {};
    std::array<double, 4> before{}, after{};
    const auto add = [](std::array<double, 4>& to, const AccessCost& cost) {
      const std::array<double, 4> its = {double(cost.look_ups), double(cost.l2_reads + cost.l2_writes),
                                         double(cost.memory_reads), double(cost.lds_cycles)};
      for (size_t i = 0; i < its.size(); ++i) to[i] += its[i];
    };
    for (size_t i = 0; i < groups_.size(); ++i) {
      for_each_entry(parts_.replayed[i].sample.first.trace, groups_[i], [&](const TraceEntry& entry) {
        add(before, entry.cost);
        add(after, rpd::idealised(entry, ideal));
      });
    }
    const auto share = [&](size_t i) { return before[i] > 0 ? after[i] / before[i] : 1.0; };
    return {share(0), share(1), share(2), share(3)};
  }

  uint64_t least(const Idealisation& ideal) const {
    const DurationParts::Floors& floors = parts_.floors;
    const Left left = this->left(ideal);
    const auto unless = [&](std::initializer_list<Cause> causes, uint64_t cycles, double share = 1) {
      const bool removed = std::ranges::any_of(causes, [&](Cause cause) { return ideal.removes(cause); });
      return removed ? 0 : static_cast<uint64_t>(static_cast<double>(cycles) * share);
    };
    const double spread = ideal.removes(Cause::SmallGrid) ? parts_.share_of_cus : 1;
    const auto of_unit = [&](CuUnits::Kind kind) {
      return ideal.removes(Cause::Imbalance) ? static_cast<uint64_t>(floors.mean_units[kind]) : floors.units[kind];
    };
    return std::max({
        unless({Cause::AtomicContention}, floors.atomics),
        unless({Cause::HostMemory}, floors.host_link),
        unless({Cause::MemoryBandwidth, Cause::BeyondL2}, floors.memory, left.memory),
        unless({Cause::L2Bandwidth}, floors.l2, left.l2),
        unless({Cause::VectorIssue}, of_unit(CuUnits::kVector), spread),
        unless({Cause::MatrixIssue}, of_unit(CuUnits::kMatrix), spread),
        unless({Cause::AddressIssue}, of_unit(CuUnits::kAddress), spread * left.look_ups),
        unless({Cause::LdsIssue}, of_unit(CuUnits::kLds), spread * left.lds),
        unless({Cause::L2Bandwidth}, of_unit(CuUnits::kTraffic), spread * left.l2),
    });
  }

  const DurationParts& parts_;
  double share_of_slots_;
  std::vector<size_t> groups_;  // of each replayed CU
  uint64_t entries_ = 0;
  double cycles_ = 0;
};

// Those whose removal changes most, alone or last of all.
std::vector<Cause> chosen(const CauseStack& stack, size_t most) {
  const auto gain = [&](Cause cause) {
    const auto i = static_cast<size_t>(cause);
    return (stack.duration_ns - stack.without_ns[i]) + (stack.only_ns[i] - stack.without_all_ns);
  };
  std::vector<Cause> causes;
  for (size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (static_cast<double>(gain(cause)) > kNoticeable * static_cast<double>(stack.duration_ns)) causes.push_back(cause);
  }
  std::ranges::stable_sort(causes, std::ranges::greater{}, gain);
  causes.resize(std::min(causes.size(), most));
  return causes;
}

// The time without each set of causes. To take away more can make a replay slower, as when waves that used to be late get
// ahead of others: then the time without fewer counts.
std::vector<uint64_t> times_of_subsets(const Experiments& experiments, const std::vector<Cause>& causes) {
  std::vector<uint64_t> times(size_t{1} << causes.size());
  for (size_t set = 0; set < times.size(); ++set) {
    Idealisation ideal;
    for (size_t i = 0; i < causes.size(); ++i)
      if (set >> i & 1) ideal.causes |= Idealisation::bit(causes[i]);
    times[set] = experiments.ns(ideal);
    for (size_t i = 0; i < causes.size(); ++i)
      if (set >> i & 1) times[set] = std::min(times[set], times[set & ~(size_t{1} << i)]);
  }
  return times;
}

}  // namespace

CauseStack experiment_with_causes(const DurationParts& parts, double share_of_slots) {
  const Experiments experiments(parts, share_of_slots);
  CauseStack stack{.duration_ns = parts.duration_ns};
  stack.without_all_ns = experiments.ns({Idealisation::all()});
  for (size_t i = 0; i < kCauses; ++i) {
    const uint32_t bit = Idealisation::bit(static_cast<Cause>(i));
    stack.without_ns[i] = experiments.ns({bit});
    stack.only_ns[i] = std::max(stack.without_all_ns, experiments.ns({Idealisation::all() & ~bit}));
  }
  const uint64_t affordable = std::bit_width(kMostReplayed / std::max<uint64_t>(1, experiments.entries())) - 1;
  stack.chosen = chosen(stack, std::clamp<size_t>(affordable, kFewestChosen, kMostChosen));
  stack.subset_ns = times_of_subsets(experiments, stack.chosen);
  for (const Op* op : experiments.accesses()) stack.instructions.push_back({op, experiments.ns({0, op})});
  return stack;
}

}  // namespace rpd
