#include "timing/cause_experiment.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr uint64_t kSufficientEntries =
    200'000;  // entries of a recording that suffice for an experiment; see groups_to_replay()
constexpr uint64_t kMaxReplayedInstructions =
    20'000'000;  // instructions to replay for all sets of causes; takes a second or two
constexpr size_t kMinChosen = 4, kMaxChosen = 8;
constexpr size_t kMaxInstructions = 24;
constexpr size_t kMaxLines = 16, kMaxLinesTakenApart = 6;
constexpr double kNoticeable = 0.002;  // a share of the duration
constexpr double kUnlimited = 1e12;  // bytes per cycle

// The number of workgroups to replay: more than twice as many as are resident at once, so that some start only when others end,
// and enough to contain kSufficientEntries instructions. If fewer were recorded, all of them are replayed.
size_t groups_to_replay(const CuRecording& recording, uint32_t resident_groups) {
  size_t groups = 0;
  uint64_t entries = 0;
  for (const CuRecording::Group& group : recording.groups()) {
    if (groups > 2 * size_t{resident_groups} && entries >= kSufficientEntries) break;
    for (const auto& wave : group) entries += wave->entries().size();
    ++groups;
  }
  return groups;
}

// Whether the recorded part of the workgroup changes memory. A workgroup whose recording is incomplete may do so later, so it
// counts as changing memory.
bool changes_memory(const CuRecording::Group& group) {
  const auto changes = [](const RecordingEntry& entry) { return entry.cost.lanes > 0 && changes_memory(*entry.op->semantics); };
  return std::ranges::any_of(
      group, [&](const auto& wave) { return wave->lost() > 0 || std::ranges::any_of(wave->entries(), changes); });
}

// Which of the first `groups` workgroups change no memory, and so count as idle.
std::vector<bool> idle_groups(const CuRecording& recording, size_t groups) {
  std::vector<bool> idle;
  for (size_t i = 0; i < std::min(groups, recording.groups().size()); ++i)
    idle.push_back(!changes_memory(recording.groups()[i]));
  return idle;
}

// Calls `f` for each recorded instruction of the first `groups` workgroups. `left_out` marks the workgroups to skip; if it is
// null, none are skipped.
template <class F>
void for_each_entry(const CuRecording& recording, size_t groups, const std::vector<bool>* left_out, F f) {
  for (size_t i = 0; i < std::min(groups, recording.groups().size()); ++i) {
    if (left_out && (*left_out)[i]) continue;
    for (const auto& wave : recording.groups()[i])
      for (const RecordingEntry& entry : wave->entries()) f(entry);
  }
}

uint32_t max_resident_groups(const CuRecording& recording) {
  const size_t waves = recording.groups().empty() ? 1 : std::max<size_t>(1, recording.groups().front().size());
  return static_cast<uint32_t>(std::max<size_t>(1, parameter::waves_per_simd * parameter::simds_per_cu / waves));
}

// The demand that the replayed instructions place on each resource that sets a lower bound on the time.
struct Demands {
  enum Kind : size_t { kAtomics, kLinks, kMemory, kL2, kVector, kMatrix, kAddress, kLds, kKinds };
  std::array<double, kKinds> of{};

  // This demand as a share of `all`.
  double share(const Demands& all, Kind kind) const { return all.of[kind] > 0 ? of[kind] / all.of[kind] : 1.0; }
};

class Experiments {
 public:
  Experiments(const DurationParts& parts, double times_device_is_filled) : parts_(parts) {
    for (const DurationParts::ReplayedCu& cu : parts.replayed) {
      const CuRecording& recording = cu.recorded.first.recording;
      groups_.push_back(groups_to_replay(recording, cu.conditions.resident_groups));
      idle_.push_back(idle_groups(recording, groups_.back()));
      for_each_entry(recording, groups_.back(), nullptr,
                     [this](const RecordingEntry& entry) { ++entries_, ++executed_[entry.op]; });
    }
    share_of_slots_ = std::min(1.0, times_device_is_filled * parts.share_of_groups);
    demands_ = demands({});
    cycles_ = replayed({});
  }

  uint64_t entries() const { return entries_; }

  uint64_t ns(const RemovedCauses& removed) const {
    if (removed.causes == 0 && !removed.accesses_free) return parts_.duration_ns;
    const double cus = removed.removes(Cause::Imbalance) ? parts_.mean_cu : parts_.busiest_cu;
    double cycles = cycles_ > 0 ? cus * replayed(removed) / cycles_ : cus;
    if (removed.removes(Cause::SmallGrid)) cycles *= share_of_slots_;
    const uint64_t busy = std::max(static_cast<uint64_t>(cycles), lower_bound_cycles(removed));
    const bool no_release = removed.removes(Cause::MemoryBandwidth) || removed.removes(Cause::BeyondL2);
    const uint64_t release = no_release ? 0 : parts_.release_cycles;
    const uint64_t launch = removed.removes(Cause::LaunchOverhead) ? 0 : parameter::launch_overhead_ns;
    return std::min(parts_.duration_ns, launch + (busy + release) * 1000 / parameter::clock_mhz);
  }

  // How often each instruction is executed in the replayed workgroups.
  const std::unordered_map<const Op*, uint64_t>& executed() const { return executed_; }

 private:
  // The total cycles of all replayed CUs when the causes in `removed` are removed.
  double replayed(const RemovedCauses& removed) const {
    double sum = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const RecordedCu& recorded = parts_.replayed[i].recorded;
      CuConditions conditions = without_causes(parts_.replayed[i].conditions, recorded.first.recording, removed);
      conditions.max_groups = groups_[i];
      if (removed.removes(Cause::IdleWaves)) conditions.left_out = &idle_[i];
      InstructionCache instructions = *parts_.instructions;
      sum += static_cast<double>(
          replay_cu(recorded.first.recording, conditions, recorded.costs, instructions, nullptr, removed).cycles);
    }
    return sum;
  }

  static CuConditions without_causes(CuConditions conditions, const CuRecording& recording, const RemovedCauses& removed) {
    if (removed.removes(Cause::L2Bandwidth))
      conditions.l2_read_bytes_per_cycle = conditions.l2_write_bytes_per_cycle = kUnlimited;
    if (removed.removes(Cause::MemoryBandwidth) || removed.removes(Cause::BeyondL2))
      conditions.memory_read_bytes_per_cycle = conditions.memory_write_bytes_per_cycle = kUnlimited;
    if (removed.removes(Cause::BeyondL2)) conditions.memory_latency_cycles = parameter::l2_latency_cycles;
    if (removed.removes(Cause::AtomicContention)) conditions.atomic_cycles = 0;
    if (removed.removes(Cause::HostMemory)) conditions.remote.bytes_per_cycle = kUnlimited;
    if (removed.removes(Cause::FewWaves))
      conditions.resident_groups = std::max(conditions.resident_groups, max_resident_groups(recording));
    return conditions;
  }

  Demands demands(const RemovedCauses& removed) const {
    Demands sum;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const RecordedCu& recorded = parts_.replayed[i].recorded;
      const std::vector<bool>* left_out = removed.removes(Cause::IdleWaves) ? &idle_[i] : nullptr;
      const auto add_entry = [&](const RecordingEntry& entry) { add(sum, entry, recorded.costs, removed); };
      for_each_entry(recorded.first.recording, groups_[i], left_out, add_entry);
    }
    return sum;
  }

  static void add(Demands& to, const RecordingEntry& entry, const IssueCosts& costs, const RemovedCauses& removed) {
    const Op& op = *entry.op;
    const Unit unit = op.semantics->unit;
    const auto counts = [&](Cause cause) { return !removed.removes(cause, op); };
    const double active = removed.removes(Cause::Divergence, op) ? static_cast<double>(entry.cost.lanes) / kLanes : 1;
    if (unit == Unit::Valu && counts(Cause::VectorIssue)) to.of[Demands::kVector] += active * costs.of(op).busy_cycles;
    if (unit == Unit::Matrix && counts(Cause::MatrixIssue)) to.of[Demands::kMatrix] += costs.of(op).busy_cycles;
    if (removed.takes_no_time(op)) return;
    const AccessCost cost = rpd::without_causes(entry, removed);
    if (unit == Unit::VectorAtomic && counts(Cause::AtomicContention)) to.of[Demands::kAtomics] += cost.l2_writes;
    to.of[Demands::kLinks] += cost.remote_reads;
    to.of[Demands::kMemory] += cost.memory_reads;
    to.of[Demands::kL2] += cost.l2_reads + cost.l2_writes;
    if (counts(Cause::AddressIssue)) to.of[Demands::kAddress] += cost.look_ups;
    if (counts(Cause::LdsIssue)) to.of[Demands::kLds] += cost.lds_cycles;
  }

  // The demands that remain when the causes are removed. They are added up again only if necessary: most causes either change
  // no demand or remove the lower bound that depends on the demand they change.
  Demands remaining(const RemovedCauses& removed) const {
    constexpr uint32_t relevant = RemovedCauses::bit(Cause::Uncoalesced) | RemovedCauses::bit(Cause::BankConflicts) |
                                  RemovedCauses::bit(Cause::Scratch) | RemovedCauses::bit(Cause::Divergence) |
                                  RemovedCauses::bit(Cause::IdleWaves);
    const bool changes = removed.only || (removed.causes & relevant);
    return changes ? demands(removed) : demands_;
  }

  uint64_t lower_bound_cycles(const RemovedCauses& removed) const {
    const DurationParts::LowerBounds& lower_bounds = parts_.lower_bounds;
    const Demands remaining = this->remaining(removed);
    const double spread = removed.removes(Cause::SmallGrid) ? parts_.share_of_cus : 1;
    const auto unless = [&](std::initializer_list<Cause> causes, uint64_t cycles, Demands::Kind kind, double share = 1) {
      const bool is_removed = std::ranges::any_of(causes, [&](Cause cause) { return removed.removes(cause); });
      return is_removed ? 0 : static_cast<uint64_t>(static_cast<double>(cycles) * share * remaining.share(demands_, kind));
    };
    const auto of_unit = [&](CuUnits::Kind kind) {
      return removed.removes(Cause::Imbalance) ? static_cast<uint64_t>(lower_bounds.mean_units[kind])
                                               : lower_bounds.units[kind];
    };
    return std::max({
        unless({Cause::AtomicContention}, lower_bounds.atomics, Demands::kAtomics),
        unless({Cause::HostMemory}, lower_bounds.links, Demands::kLinks),
        unless({Cause::MemoryBandwidth, Cause::BeyondL2}, lower_bounds.memory, Demands::kMemory),
        unless({Cause::L2Bandwidth}, lower_bounds.l2, Demands::kL2),
        unless({Cause::VectorIssue}, of_unit(CuUnits::kVector), Demands::kVector, spread),
        unless({Cause::MatrixIssue}, of_unit(CuUnits::kMatrix), Demands::kMatrix, spread),
        unless({Cause::AddressIssue}, of_unit(CuUnits::kAddress), Demands::kAddress, spread),
        unless({Cause::LdsIssue}, of_unit(CuUnits::kLds), Demands::kLds, spread),
        unless({Cause::L2Bandwidth}, of_unit(CuUnits::kTraffic), Demands::kL2, spread),
    });
  }

  const DurationParts& parts_;
  double share_of_slots_ = 1;  // how much of the device the workgroups with work would fill if they were spread over it
  std::vector<size_t> groups_;  // workgroups to replay, for each replayed CU
  std::vector<std::vector<bool>> idle_;  // which of these workgroups change no memory
  std::unordered_map<const Op*, uint64_t> executed_;
  uint64_t entries_ = 0;
  Demands demands_;
  double cycles_ = 0;
};

bool accesses(const Op& op) {
  const Unit unit = op.semantics->unit;
  return unit == Unit::Smem || unit == Unit::Lds || issue_cause(unit) == Cause::AddressIssue;
}

// The instructions that access memory or the LDS, most frequently executed first; at most kMaxInstructions of them.
std::vector<const Op*> accesses_of(const Experiments& experiments) {
  std::vector<std::pair<const Op*, uint64_t>> sorted;
  for (const auto& [op, times] : experiments.executed())
    if (accesses(*op)) sorted.emplace_back(op, times);
  std::ranges::sort(sorted, [](const auto& left, const auto& right) {
    return left.second != right.second ? left.second > right.second : left.first->index < right.first->index;
  });
  std::vector<const Op*> heaviest;
  for (const auto& [op, count] : sorted) heaviest.push_back(op);
  heaviest.resize(std::min(heaviest.size(), kMaxInstructions));
  return heaviest;
}

// Whether the cause can apply to the instruction.
bool concerns(Cause cause, const Op& op) {
  const Unit unit = op.semantics->unit;
  switch (cause) {
    case Cause::MemoryLatency:
    case Cause::BeyondL2:
    case Cause::HostMemory: return unit == Unit::Smem || issue_cause(unit) == Cause::AddressIssue;
    case Cause::Uncoalesced: return issue_cause(unit) == Cause::AddressIssue;
    case Cause::AtomicContention: return unit == Unit::VectorAtomic;
    case Cause::Scratch: return op.semantics->space == Space::Scratch;
    case Cause::LdsLatency:
    case Cause::BankConflicts: return unit == Unit::Lds || op.to_lds;
    case Cause::Barriers: return unit == Unit::Barrier;
    case Cause::Divergence: return unit != Unit::Matrix;
    default: return issue_cause(unit) == cause;
  }
}

// A source line's instructions. `weight` is how often they were executed, with accesses weighted more heavily because they may
// take longer.
struct Line {
  std::string source;
  Instructions instructions;
  std::vector<const Op*> ops;
  uint64_t weight = 0;

  void add(const Op& op, uint64_t times) {
    constexpr uint64_t kAccess = 16;
    if (instructions.size() <= op.index) instructions.resize(op.index + 1);
    instructions[op.index] = true;
    ops.push_back(&op);
    weight += times * (accesses(op) ? kAccess : 1);
  }
};

std::vector<Line> lines_of(const Experiments& experiments, LineOf line_of) {
  std::map<std::string, Line> by_source;
  for (const auto& [op, times] : experiments.executed())
    if (const std::string source = line_of(op->address); !source.empty()) by_source[source].add(*op, times);
  std::vector<Line> lines;
  for (auto& [source, line] : by_source) lines.push_back({source, line.instructions, line.ops, line.weight});
  std::ranges::stable_sort(lines, std::ranges::greater{}, &Line::weight);
  lines.resize(std::min(lines.size(), kMaxLines));
  return lines;
}

std::vector<CauseTimes::LineTime> experiment_with_lines(const Experiments& experiments, const std::vector<Cause>& causes,
                                                        LineOf line_of) {
  std::vector<Line> lines = lines_of(experiments, line_of);
  std::vector<std::pair<CauseTimes::LineTime, const Line*>> timed_lines;
  for (const Line& line : lines) {
    const uint64_t without = experiments.ns({kCausesOfInstructions, &line.instructions, true});
    timed_lines.push_back({{line.source, without, {}}, &line});
  }
  std::ranges::stable_sort(timed_lines, {}, [](const auto& line) { return line.first.without_ns; });
  std::vector<CauseTimes::LineTime> result;
  for (auto& [of_line, line] : timed_lines) {
    for (size_t i = 0; i < causes.size() && result.size() < kMaxLinesTakenApart; ++i) {
      const uint32_t bit = RemovedCauses::bit(causes[i]);
      const auto is_concerned = [&](const Op* op) { return concerns(causes[i], *op); };
      if (!(bit & kCausesOfInstructions) || std::ranges::none_of(line->ops, is_concerned)) continue;
      of_line.without_cause_ns.emplace_back(causes[i], experiments.ns({bit, &line->instructions}));
    }
    result.push_back(std::move(of_line));
  }
  return result;
}

// At most `limit` causes: those whose removal saves the most time, provided that the saving is noticeable. A cause's saving is
// what removing it alone saves plus what removing it after all the others saves.
std::vector<Cause> chosen(const CauseTimes& result, size_t limit) {
  const auto gain = [&](Cause cause) {
    const auto i = static_cast<size_t>(cause);
    return (result.duration_ns - result.without_ns[i]) + (result.only_ns[i] - result.without_all_ns);
  };
  std::vector<Cause> causes;
  for (size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (static_cast<double>(gain(cause)) > kNoticeable * static_cast<double>(result.duration_ns)) causes.push_back(cause);
  }
  std::ranges::stable_sort(causes, std::ranges::greater{}, gain);
  causes.resize(std::min(causes.size(), limit));
  return causes;
}

// The time with each set of causes removed. Removing more causes can make a replay slower, for example if waves that used to be
// late get ahead of others; in that case, the time for the smaller set is used.
std::vector<uint64_t> times_of_subsets(const Experiments& experiments, const std::vector<Cause>& causes) {
  std::vector<uint64_t> times(size_t{1} << causes.size());
  for (size_t set = 0; set < times.size(); ++set) {
    RemovedCauses removed;
    for (size_t i = 0; i < causes.size(); ++i)
      if (set >> i & 1) removed.causes |= RemovedCauses::bit(causes[i]);
    times[set] = experiments.ns(removed);
    for (size_t i = 0; i < causes.size(); ++i)
      if (set >> i & 1) times[set] = std::min(times[set], times[set & ~(size_t{1} << i)]);
  }
  return times;
}

}  // namespace

CauseTimes experiment_with_causes(const DurationParts& parts, double times_device_is_filled, LineOf line_of) {
  const Experiments experiments(parts, times_device_is_filled);
  CauseTimes result{.duration_ns = parts.duration_ns};
  result.without_all_ns = experiments.ns({RemovedCauses::all()});
  for (size_t i = 0; i < kCauses; ++i) {
    const uint32_t bit = RemovedCauses::bit(static_cast<Cause>(i));
    result.without_ns[i] = experiments.ns({bit});
    result.only_ns[i] = std::max(result.without_all_ns, experiments.ns({RemovedCauses::all() & ~bit}));
  }
  const uint64_t affordable = std::bit_width(kMaxReplayedInstructions / std::max<uint64_t>(1, experiments.entries())) - 1;
  result.chosen = chosen(result, std::clamp<size_t>(affordable, kMinChosen, kMaxChosen));
  result.subset_ns = times_of_subsets(experiments, result.chosen);
  for (const Op* op : accesses_of(experiments)) {
    Line alone;
    alone.add(*op, 1);
    result.instructions.push_back({op, experiments.ns({0, &alone.instructions, true})});
  }
  if (line_of) result.lines = experiment_with_lines(experiments, result.chosen, line_of);
  return result;
}

}  // namespace rpd
