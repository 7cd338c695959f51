#include "timing/cu_replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <unordered_map>
#include <vector>

#include "isa/semantics.h"
#include "timing/coalescing.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

uint64_t slot_cycles() { return static_cast<uint64_t>(parameter::issue_cycles); }  // between two issue slots of a SIMD

// When outstanding accesses of one kind complete. They complete in order of issue, so none completes before an earlier one.
class OutstandingAccessTimes {
 public:
  void issue(uint64_t done) {
    last_ = std::max(last_, done);
    done_[count_++ % kMaxOutstanding] = last_;
  }
  // The time from which at most `limit` accesses are still outstanding; 0 if there is nothing to wait for.
  uint64_t until(unsigned limit) const {
    return count_ > limit && limit < kMaxOutstanding ? done_[(count_ - 1 - limit) % kMaxOutstanding] : 0;
  }

 private:
  static constexpr unsigned kMaxOutstanding = 64;
  std::array<uint64_t, kMaxOutstanding> done_{};
  uint64_t last_ = 0;
  unsigned count_ = 0;
};

// Registers that a matrix instruction will write, and when they will be ready.
struct PendingResult {
  Operand::Kind kind;
  uint16_t first, last;
  uint64_t ready;
};

struct Group;

struct ReplayedWave {
  const std::vector<RecordingEntry>* entries;
  Group* group;
  uint32_t simd;
  uint64_t age;             // order of launch
  size_t position = 0;
  uint64_t started = 0;
  uint64_t arrived = 0;     // when the wave reached its next instruction
  uint64_t issued = 0;      // when its latest instruction issued; needed at a barrier
  uint64_t ready = 0;       // when its next instruction could issue if its unit were free
  uint64_t code_line = 0;   // the line of its most recent instruction
  OutstandingAccessTimes vector;
  OutstandingAccessTimes scalar;       // scalar memory and LDS
  OutstandingAccessTimes stores;       // only if they are counted separately
  std::vector<PendingResult> results;
  std::array<uint64_t, 2> lane_cycles{};  // [is vector unit]: issue cycles carried over to the next slot

  uint32_t number() const { return static_cast<uint32_t>(age - 1); }
};

struct Group {
  std::vector<ReplayedWave*> waiting;  // at the barrier
  uint32_t running = 0;
  uint64_t started = 0;
};

bool overlaps(const Operand& operand, const PendingResult& result) {
  return operand.kind == result.kind && operand.reg <= result.last && operand.reg + operand.dwords > result.first;
}

struct Simd {
  uint64_t vector_free = 0;
  uint64_t matrix_free = 0;
  uint64_t scalar_free = 0;
};

class CuReplay {
 public:
  CuReplay(const CuRecording& recording, const CuConditions& conditions, const IssueCosts& costs,
           InstructionCache& instructions, CuReplayObserver* observer, const RemovedCauses& removed)
      : recording_(recording),
        conditions_(conditions),
        costs_(costs),
        instructions_(instructions),
        observer_(observer),
        removed_(removed),
        fetches_done_(recording.entries()) {}

  CuOutcome run() {
    // The dispatcher serves the CUs in turn; this CU is assumed to come last.
    if (!recording_.groups().empty())
      dispatcher_free_ = (conditions_.sharers_of_dispatcher - 1) * launch_cycles(recording_.groups().front());
    for (uint32_t i = 0; i < conditions_.resident_groups; ++i) launch_next(0);
    while (!queue_.empty()) {
      const Turn turn = queue_.top();
      queue_.pop();
      advance(*turn.wave, turn.time);
    }
    outcome_.cycles = now_;
    return outcome_;
  }

 private:
  struct Turn {
    uint64_t time;
    ReplayedWave* wave;
    // The earliest time comes first; if times are equal, the wave that was launched first goes first.
    bool operator<(const Turn& other) const { return time != other.time ? time > other.time : wave->age > other.wave->age; }
  };

  void launch_next(uint64_t time) {
    const size_t count = std::min(recording_.groups().size(), conditions_.max_groups);
    while (conditions_.left_out && next_group_ < count && (*conditions_.left_out)[next_group_]) ++next_group_;
    if (next_group_ >= count) return;
    const auto& recorded = recording_.groups()[next_group_++];
    Group& group = groups_.emplace_back();
    uint64_t launched = group.started = std::max(time, dispatcher_free_);
    dispatcher_free_ = launched + conditions_.sharers_of_dispatcher * launch_cycles(recorded);
    for (const auto& wave : recorded) {
      launched += starting(parameter::wave_launch_cycles);
      const uint64_t start = launched + starting(parameter::workgroup_launch_cycles);
      auto& replayed = waves_.emplace_back();
      replayed.entries = &wave->entries();
      replayed.group = &group;
      replayed.age = waves_.size();
      replayed.simd = static_cast<uint32_t>(waves_.size() % parameter::simds_per_cu);
      replayed.started = launched;
      replayed.ready = replayed.arrived = start;
      if (observer_) observer_->launched(replayed.number(), replayed.simd, launched);
      ++group.running;
      queue_.push({start, &replayed});
    }
  }

  uint64_t launch_cycles(const CuRecording::Group& group) const {
    return group.size() * starting(parameter::wave_launch_cycles);
  }
  uint64_t starting(uint64_t cycles) const { return removed_.removes(Cause::WaveLaunch) ? 0 : cycles; }

  // Issues the wave's next instruction at `time` if possible; otherwise schedules it for later.
  void advance(ReplayedWave& wave, uint64_t time) {
    if (wave.position == wave.entries->size()) return finish(wave, time);  // the recording ends here
    const RecordingEntry& entry = (*wave.entries)[wave.position];
    const uint64_t needed = std::max(fetched(wave, *entry.op, time), dependencies(wave, entry));
    if (needed > time) {
      outcome_.wait_cycles += needed - time;
      wave.ready = needed;
      return queue_.push({needed, &wave});
    }
    const uint64_t possible = issues_free(*entry.op) ? time : slot(std::max(time, unit_free(wave, entry)), wave.simd);
    if (possible > time) {
      outcome_.issue_wait_cycles += possible - time;
      return queue_.push({possible, &wave});
    }
    issue(wave, entry, time);
  }

  static uint64_t slot(uint64_t time, uint32_t simd) {
    const uint64_t cycles = slot_cycles(), first = simd % cycles;
    return (time + cycles - 1 - first) / cycles * cycles + first;
  }

  // When the instruction is available. Straight-line code is prefetched; a wave's first line and jump targets may have to be
  // fetched.
  uint64_t fetched(ReplayedWave& wave, const Op& op, uint64_t time) {
    const uint64_t line = op.address / kInstructionLineBytes;
    if (line == wave.code_line || removed_.removes(Cause::InstructionFetch)) return 0;
    const bool ahead = line == wave.code_line + 1;
    wave.code_line = line;
    if (instructions_.find(line) == kNotFound) {
      instructions_.allocate(line);
      if (!ahead) code_arrivals_[line] = time + static_cast<uint64_t>(conditions_.memory_latency_cycles);
    }
    const auto entry = code_arrivals_.find(line);
    const uint64_t arrival = entry == code_arrivals_.end() ? 0 : entry->second;
    wave.arrived = std::max(wave.arrived, arrival);
    return arrival;
  }

  uint64_t dependencies(ReplayedWave& wave, const RecordingEntry& entry) {
    const Semantics& semantics = *entry.op->semantics;
    if (semantics.unit == Unit::Wait) {
      const WaitCounts& limits = entry.op->wait;
      return std::max({wave.vector.until(limits.vector), wave.scalar.until(limits.scalar), wave.stores.until(limits.stores)});
    }
    if (wave.results.empty()) return 0;
    uint64_t needed = 0;
    std::erase_if(wave.results, [&](const PendingResult& result) { return result.ready <= wave.ready; });
    for (const PendingResult& result : wave.results) {
      bool touches = overlaps(entry.op->destination, result) && semantics.unit != Unit::Matrix;
      for (const Operand& source : entry.op->source) touches = touches || overlaps(source, result);
      if (touches) needed = std::max(needed, result.ready);
    }
    return needed;
  }

  uint64_t unit_free(const ReplayedWave& wave, const RecordingEntry& entry) const {
    const Simd& simd = simds_[wave.simd];
    switch (entry.op->semantics->unit) {
      case Unit::Valu: return simd.vector_free;
      case Unit::Matrix: return std::max(simd.vector_free, simd.matrix_free);
      case Unit::Salu:
      case Unit::Smem: return simd.scalar_free;
      case Unit::VectorLoad:
      case Unit::VectorStore:
      case Unit::VectorAtomic: return address_free_;
      case Unit::Lds: return lds_free_;
      default: return 0;
    }
  }

  bool issues_free(const Op& op) const { return removed_.causes && removed_.removes(issue_cause(op.semantics->unit), op); }

  void issue(ReplayedWave& wave, const RecordingEntry& entry, uint64_t time) {
    ++outcome_.instructions;
    ++wave.position;
    now_ = std::max(now_, time);
    Simd& simd = simds_[wave.simd];
    const Op& op = *entry.op;
    const bool free = issues_free(op);
    const uint64_t cycles = free ? 0 : of_active_lanes(wave, entry, cycles_of_wave(op));
    uint64_t next = time + cycles;
    wave.issued = time;
    switch (op.semantics->unit) {
      case Unit::Valu: simd.vector_free = next; break;
      case Unit::Matrix:
        simd.vector_free = next;
        simd.matrix_free = free ? time : time + costs_.of(op).busy_cycles;
        wave.results.push_back({op.destination.kind, op.destination.reg,
                                static_cast<uint16_t>(op.destination.reg + op.destination.dwords - 1), simd.matrix_free});
        break;
      case Unit::Salu: simd.scalar_free = next; break;
      case Unit::Smem:
        simd.scalar_free = next;
        wave.scalar.issue(scalar_access(entry, time));
        break;
      case Unit::Lds:
        lds_free_ = time;
        if (!free)
          lds_free_ +=
              std::max(min_unit_cycles(parameter::lds_issue_cycles, entry), without_causes(entry, removed_).lds_cycles);
        wave.scalar.issue(
            removed_.takes_no_time(op) ? time : lds_free_ + latency(parameter::lds_latency_cycles, Cause::LdsLatency, op));
        break;
      case Unit::VectorLoad:
      case Unit::VectorStore:
      case Unit::VectorAtomic:
        (is_counted_as_store(op) ? wave.stores : wave.vector).issue(access(entry, time));
        if (const uint64_t cycles = without_causes(entry, removed_).lds_cycles)
          wave.scalar.issue(time + cycles + latency(parameter::lds_latency_cycles, Cause::LdsLatency, op));
        break;
      case Unit::Barrier:
        if (!removed_.removes(Cause::Barriers, op)) return wait_at_barrier(wave, next);
        break;
      case Unit::End:
        next = time + parameter::wave_end_cycles;
        move_past_instruction(wave, next);
        return finish(wave, next);
      default: break;
    }
    move_past_instruction(wave, next);
    // The branch itself is done, but the instruction buffer is empty.
    if (!free && jumps(wave, op))
      wave.arrived = next += of_active_lanes(wave, entry, parameter::taken_branch_cycles - slot_cycles());
    wave.ready = next;
    queue_.push({next, &wave});
  }

  // How long an instruction keeps its wave from issuing the next one.
  uint64_t cycles_of_wave(const Op& op) const {
    switch (op.semantics->unit) {
      case Unit::Valu:
      case Unit::Lds: return costs_.of(op).busy_cycles;
      case Unit::Nop: return costs_.of(op).wave_cycles;
      default: return slot_cycles();
    }
  }

  // Whether only the active lanes count towards the instruction's cycles, which they do if divergence is removed. Matrix
  // instructions work on all lanes, active or not.
  bool goes_by_lanes(const RecordingEntry& entry) const {
    return entry.cost.lanes < kLanes && removed_.removes(Cause::Divergence, *entry.op) &&
           entry.op->semantics->unit != Unit::Matrix;
  }

  // The part of an instruction's cycles that its active lanes need if masked-off lanes take no time. Waves issue in slots: only
  // whole slots of accumulated cycles count, and the remainder carries over.
  uint64_t of_active_lanes(ReplayedWave& wave, const RecordingEntry& entry, uint64_t cycles) const {
    if (!goes_by_lanes(entry)) [[likely]]
      return cycles;
    uint64_t& lane_cycles = wave.lane_cycles[entry.op->semantics->unit == Unit::Valu];
    lane_cycles += cycles * entry.cost.lanes;
    const uint64_t whole_slots = lane_cycles / (kLanes * slot_cycles()) * slot_cycles();
    lane_cycles -= whole_slots * kLanes;
    return whole_slots;
  }

  // Like of_active_lanes(), but for the minimum time that the instruction occupies a unit of the CU, and without slots or
  // remainders.
  uint16_t min_unit_cycles(uint64_t cycles, const RecordingEntry& entry) const {
    return static_cast<uint16_t>(goes_by_lanes(entry) ? cycles * entry.cost.lanes / kLanes : cycles);
  }

  // Moves the wave past the instruction that it issued last.
  void move_past_instruction(ReplayedWave& wave, uint64_t time) {
    if (observer_) observer_->executed(wave.number(), *(*wave.entries)[wave.position - 1].op, wave.arrived, wave.issued, time);
    wave.arrived = time;
  }

  // Whether the wave, which has just issued `op`, continues anywhere other than at the instruction after it.
  static bool jumps(const ReplayedWave& wave, const Op& op) {
    return wave.position < wave.entries->size() && (*wave.entries)[wave.position].op->address != op.address + op.size;
  }

  uint64_t latency(uint64_t cycles, Cause cause, const Op& op) const { return removed_.removes(cause, op) ? 0 : cycles; }

  uint64_t latency_of(FetchedFrom from, const Op& op) const {
    if (removed_.removes(Cause::MemoryLatency, op)) return 0;
    switch (from) {
      case FetchedFrom::L2: return parameter::l2_latency_cycles;
      case FetchedFrom::Memory: return static_cast<uint64_t>(conditions_.memory_latency_cycles);
      case FetchedFrom::Remote: return conditions_.remote.latency_cycles;
    }
    return 0;
  }

  // When the lines that the access at `time` hits in its cache actually arrive; 0 if it does not have to wait for any. A
  // different wave may have requested these lines. If it has not done so yet in the replay, this access has to fetch them.
  uint64_t hit_ready(const AccessCost& cost, const Op& op, uint64_t time) const {
    if (!cost.awaited) return 0;
    const uint64_t done = fetches_done_[recording_.index_of_fetch(cost.awaited)];
    return done ? done : time + latency_of(cost.awaited_from, op);
  }

  // Records when the access completes, for later accesses that hit its lines. Returns that time.
  uint64_t note_fetch(const AccessCost& cost, uint64_t done) {
    if (cost.fetch) fetches_done_[recording_.index_of_fetch(cost.fetch)] = done;
    return done;
  }

  // Returns when a scalar load is complete.
  uint64_t scalar_access(const RecordingEntry& entry, uint64_t time) {
    const AccessCost cost = without_causes(entry, removed_);
    const Op& op = *entry.op;
    if (removed_.takes_no_time(op)) return note_fetch(cost, time);
    const FetchedFrom from = cost.remote_reads   ? FetchedFrom::Remote
                             : cost.memory_reads ? FetchedFrom::Memory
                                                 : FetchedFrom::L2;
    const uint64_t hit = latency(parameter::scalar_latency_cycles, Cause::MemoryLatency, op);
    return note_fetch(cost, std::max(time + (cost.l2_reads ? latency_of(from, op) : hit), hit_ready(cost, op, time)));
  }

  // Returns when the access is complete.
  uint64_t access(const RecordingEntry& entry, uint64_t time) {
    const AccessCost cost = without_causes(entry, removed_);
    const Op& op = *entry.op;
    if (removed_.takes_no_time(op)) return note_fetch(cost, time);
    address_free_ = issues_free(op) ? time : time + std::max<uint16_t>(min_unit_cycles(slot_cycles(), entry), cost.look_ups);
    const auto l2_latency = static_cast<double>(latency_of(FetchedFrom::L2, op));
    double done = static_cast<double>(address_free_ + latency(parameter::l1_latency_cycles, Cause::MemoryLatency, op));
    // Reads and writes have separate paths.
    const auto passed = [&](double& free, double bytes, double bytes_per_cycle) {
      if (bytes == 0) return;
      free = std::max(free, static_cast<double>(address_free_)) + bytes / bytes_per_cycle;
      done = std::max(done, free + l2_latency);
    };
    passed(l2_read_free_, 128.0 * cost.l2_reads, conditions_.l2_read_bytes_per_cycle);
    passed(l2_write_free_, 64.0 * cost.l2_writes, conditions_.l2_write_bytes_per_cycle);
    if (op.semantics->unit == Unit::VectorAtomic && !removed_.removes(Cause::AtomicContention, op)) {
      atomic_free_ = std::max(atomic_free_, static_cast<double>(address_free_)) + cost.l2_writes * conditions_.atomic_cycles;
      done = std::max(done, atomic_free_ + l2_latency);
    }
    // Data that a store leaves dirty in the L2 goes to memory later but over the same channels, except for the share that stays
    // in the L2 until the end of the dispatch.
    const double memory_cycles =
        128.0 * cost.memory_reads / conditions_.memory_read_bytes_per_cycle +
        64.0 * cost.l2_writes * conditions_.early_write_share / conditions_.memory_write_bytes_per_cycle;
    if (memory_cycles > 0) {
      memory_free_ = std::max(memory_free_, static_cast<double>(address_free_)) + memory_cycles;
      if (cost.memory_reads) {
        const double read = memory_free_ + (removed_.removes(Cause::MemoryLatency, op) ? 0 : conditions_.memory_latency_cycles);
        done = std::max(done, read);
        outcome_.memory_reads += cost.memory_reads;
        outcome_.memory_read_cycles +=
            cost.memory_reads * (read - static_cast<double>(address_free_) - parameter::l2_latency_cycles);
      }
    }
    if (cost.remote_reads) {
      remote_free_ = std::max(remote_free_, static_cast<double>(address_free_)) +
                     64.0 * cost.remote_reads / conditions_.remote.bytes_per_cycle;
      done = std::max(done, remote_free_ + static_cast<double>(latency_of(FetchedFrom::Remote, op)));
    }
    if (cost.waits_for_page)  // other accesses proceed meanwhile
      done += static_cast<double>(latency(parameter::l1_tlb_miss_cycles, Cause::MemoryLatency, op));
    return note_fetch(cost, std::max(static_cast<uint64_t>(std::ceil(done)), hit_ready(cost, op, address_free_)));
  }

  void wait_at_barrier(ReplayedWave& wave, uint64_t time) {
    wave.ready = time;
    wave.group->waiting.push_back(&wave);
    release_barrier(*wave.group, time);
  }

  void release_barrier(Group& group, uint64_t time) {
    if (group.waiting.empty() || group.waiting.size() < group.running) return;
    for (ReplayedWave* wave : group.waiting) {
      outcome_.wait_cycles += time - wave->ready;
      wave->ready = time;
      move_past_instruction(*wave, time);
      queue_.push({time, wave});
    }
    group.waiting.clear();
  }

  void finish(ReplayedWave& wave, uint64_t time) {
    now_ = std::max(now_, time);
    outcome_.wave_cycles += time - wave.started;
    if (observer_) observer_->ended(wave.number(), time);
    --wave.group->running;
    release_barrier(*wave.group, time);
    if (wave.group->running > 0) return;
    outcome_.group_cycles += time - wave.group->started;
    launch_next(time);
  }

  const CuRecording& recording_;
  const CuConditions& conditions_;
  const IssueCosts& costs_;
  InstructionCache& instructions_;
  CuReplayObserver* observer_;
  const RemovedCauses& removed_;
  std::unordered_map<uint64_t, uint64_t> code_arrivals_;  // by instruction-cache line: when the line arrives
  std::vector<uint64_t> fetches_done_;                 // [index of the fetch]: when its lines arrive; 0 before it begins
  std::deque<Group> groups_;
  std::deque<ReplayedWave> waves_;
  std::priority_queue<Turn> queue_;
  size_t next_group_ = 0;
  std::array<Simd, parameter::simds_per_cu> simds_;
  uint64_t address_free_ = 0;
  uint64_t lds_free_ = 0;
  double l2_read_free_ = 0;
  double l2_write_free_ = 0;
  double memory_free_ = 0;
  double atomic_free_ = 0;
  double remote_free_ = 0;
  uint64_t dispatcher_free_ = 0;
  uint64_t now_ = 0;
  CuOutcome outcome_;
};

}  // namespace

AccessCost without_causes(const RecordingEntry& entry, const RemovedCauses& removed) {
  AccessCost cost = entry.cost;
  if (removed.causes == 0) [[likely]]
    return cost;
  const Semantics& semantics = *entry.op->semantics;
  const bool is_vector_memory = issue_cause(semantics.unit) == Cause::AddressIssue;
  const uint32_t bytes = std::max<uint32_t>(1, semantics.bytes) * kLanes;
  const auto at_most = [](uint8_t& count, uint32_t limit) { count = static_cast<uint8_t>(std::min<uint32_t>(count, limit)); };
  if (!removed.concerns(*entry.op)) return cost;
  const auto removes = [&](Cause cause) { return (removed.causes & RemovedCauses::bit(cause)) != 0; };
  if (removes(Cause::Scratch) && semantics.space == Space::Scratch) return AccessCost{};
  if (removes(Cause::HostMemory)) cost.remote_reads = 0;
  if (removes(Cause::BeyondL2)) cost.memory_reads = 0;
  if (removes(Cause::BankConflicts))
    cost.lds_cycles = std::min<uint16_t>(cost.lds_cycles, static_cast<uint16_t>((bytes + kLineBytes - 1) / kLineBytes));
  if (removes(Cause::Uncoalesced) && is_vector_memory) {
    const uint32_t lines = (bytes + kLineBytes - 1) / kLineBytes;
    at_most(cost.look_ups, kLanes / lanes_per_look_up(semantics.bytes));
    at_most(cost.l2_reads, lines);
    at_most(cost.memory_reads, lines);
    at_most(cost.l2_writes, 2 * lines);
  }
  return cost;
}

CuOutcome replay_cu(const CuRecording& recording, const CuConditions& conditions, const IssueCosts& costs,
                    InstructionCache& instructions, CuReplayObserver* observer, const RemovedCauses& removed) {
  return CuReplay(recording, conditions, costs, instructions, observer, removed).run();
}

}  // namespace rpd
