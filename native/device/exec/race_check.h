// Finds races between the waves of a kernel (conflicting accesses that nothing orders), missing waits within a wave, and reads
// of LDS that nothing has written.
//
// Two accesses to the same byte conflict if they come from different waves, at least one of them writes, and they are not
// both atomic. They are ordered
//  - within a workgroup, by a barrier between them (they are in different epochs of the workgroup). In the LDS, the first
//    access must also have completed, according to the s_waitcnt instructions (outstanding_accesses.h), before its wave
//    reached the barrier. A workgroup's accesses to global memory go through one L1 in order (LLVM AMDGPUUsage, "Memory Model
//    gfx942").
//  - across workgroups, in global memory, by a message: a release after the first access (a write-back, buffer_wbl2; the wave
//    has waited for the access and the write-back), then an atomic write to some location, an atomic read of that location by
//    the workgroup of the second access, and then an acquire (buffer_inv) by that workgroup before the second access. A message
//    covers everything that was released before it was written.
// Code for gfx90a, on which all workgroups share the L2, names no scopes (LLVM AMDGPUUsage, "Memory Model GFX90A"):
//  - A release is a wait for all accesses of the wave (s_waitcnt vmcnt(0)). It covers the wave's own accesses, and those that
//    other waves of the workgroup made before the barrier that precedes the wait.
//  - An acquire is buffer_wbinvl1.
//  - Atomic loads bypass the L1 (glc without slc). Atomic stores look like other stores, so a store counts as atomic if another
//    access to its location is atomic. If stores by several workgroups precede any such access, they are reported.
//  - Accesses meant for the host look like those meant for other workgroups, so their order is not checked.
// An access at agent or system scope (sc1) counts as atomic: this is how compilers emit atomic loads and stores. Atomic
// accesses do not race, but code that reads their results may rely on an order that nothing guarantees. On request, two atomic
// accesses that are not ordered are reported unless both are read-modify-writes. The check then also reports writes that the
// host may see too early or miss: a write at system scope, if the workgroup has not released its earlier writes at that scope,
// and any other write after a write at system scope.
// Lanes of one wave run in lockstep and do not race. The scalar cache does not see vector stores: a scalar load of data that
// any wave of the dispatch has written may return the old value unless the loading wave has invalidated that cache
// (s_dcache_inv). Only the last write to each cell and two reads of it are remembered: if there are more, one race can hide
// another, but there are no false reports.
//
// Within a wave, a register or LDS must not be used while a load from memory into it is in flight, and a store at agent or
// system scope must not be overtaken by the atomic that announces it (atomic_reordering.h).
//
// Waves and workgroups run on one host thread, in an order that depends on the seed; with seed 0, it is the usual order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/atomic_reordering.h"
#include "exec/dispatched_kernel.h"
#include "exec/instruction_events.h"
#include "exec/workgroup.h"

namespace rpd {

class RaceCheck {
 public:
  RaceCheck(uint64_t seed, bool unordered_atomics) : seed_(seed), unordered_atomics_(unordered_atomics) {}

  void begin(const DispatchedKernel& kernel);
  // Returns one line for each pair of instructions that raced and has not been reported before. Forgets all accesses.
  std::vector<std::string> end();

  // Ranges [begin, end) of global memory written since begin(), in ascending order. To be called before end().
  std::vector<std::pair<uint64_t, uint64_t>> written() const;

  // The order of execution.
  uint64_t permuted(uint64_t group, uint64_t group_count) const;
  size_t first_wave(size_t wave_count) { return seed_ ? order_() % wave_count : 0; }
  // The index of the wave that is held back in this turn, so that it falls behind the rest of its workgroup; the number of
  // waves if none is. The choice changes every few turns. Without such a wave, waves with the same instructions would take
  // turns access by access, and every store would precede the next load of the other waves.
  size_t paused_wave(const Workgroup& group) const;

  // Called when `op` is about to be executed.
  void issue(const Wave& wave, const Op& op);
  void access(const Wave& wave, const Op& op, const VectorAccess& access);
  void scalar_access(const Wave& wave, uint64_t address, uint32_t bytes);
  void fence(const Wave& wave, const Op& op);
  void wait(const Wave& wave, unsigned vector_left, unsigned scalar_left);

 private:
  // Who accessed a cell, and when, according to the accessing workgroup's clocks.
  struct Access {
    const Op* op = nullptr;  // null: nobody
    uint32_t group = 0;
    uint32_t epoch = 0;
    uint32_t number = 0;  // in its queue
    uint32_t queue : 2 = 0;
    uint32_t wave : 4 = 0;
    uint32_t bytes : 4 = 0;  // one bit for each byte of the cell
    uint32_t atomic : 1 = 0;
    uint32_t releases : 21 = 0;  // number of releases that the workgroup had begun before this access

    QueuePosition position() const { return {static_cast<CompletionQueue>(queue), number}; }
  };
  // Four bytes of memory.
  struct ShadowCell {
    Access write;
    std::array<Access, 2> reads;
    uint8_t written = 0;  // bytes ever written, one bit each
    bool has_atomics = false;  // used only where stores do not show whether they are atomic
  };
  static constexpr uint64_t kCellBytes = 4;
  static constexpr uint64_t kPageCells = 1024;
  using Page = std::array<ShadowCell, kPageCells>;

  struct Release {
    uint64_t time;  // its number among all releases of the dispatch
    uint32_t wave;
    uint32_t epoch;  // of the wave's workgroup
  };
  struct GroupClock {
    std::vector<Release> releases;
    size_t begun = 0;  // number of releases, including those not yet waited for
    uint64_t accesses = 0;  // number of accesses to global memory; counted only where waits are releases
    std::array<uint64_t, 16> released{};  // by wave: the value of `accesses` at its latest release
    uint64_t received = 0;  // the latest release announced by a message that the workgroup has read
    uint64_t acquired = 0;  // the value of `received` at its latest acquire
    const Op* unreleased = nullptr;  // its latest write, unless it has begun a release at system scope since then
    const Op* for_the_host = nullptr;  // its latest write at system scope
  };
  struct Conflict {
    Access first, second;
    AccessKind first_kind, second_kind;
    Space space;
    uint64_t address;
  };
  // "description, N times, first location"
  struct Finding {
    std::string description, location;
    uint64_t count = 0;
  };
  enum class FindingKind : uint8_t {
    LdsRace,
    GlobalRace,
    UnorderedAtomics,
    EarlyUse,
    AtomicReordering,
    UnfinishedRelease,
    Unreleased,
    AfterMessage,
    StaleScalar
  };
  struct FindingKey {
    uint64_t first, second;  // addresses of the two instructions
    FindingKind kind;
    auto operator<=>(const FindingKey&) const = default;
  };

  OutstandingAccesses& outstanding(const Wave& wave) const { return wave.group->outstanding[wave.index_in_group]; }
  ShadowCell* global_cell(uint64_t word);
  const ShadowCell* known_global_cell(uint64_t word) const;  // null where nothing has been accessed
  std::vector<ShadowCell>& lds_cells(const Wave& wave);
  Access access_now(const Wave& wave, const Op& op, const VectorAccess& access);
  void touch(ShadowCell& cell, Access now, AccessKind kind, Space space, uint64_t address);
  void take_for_atomic(ShadowCell& cell, Access& now, AccessKind kind);
  void look_for_early_use(const Wave& wave, const Op& op);
  void look_for_reordering(const Access& write, const Access& now, AccessKind kind, uint64_t address);
  void publish(const Wave& wave, const Op& op, const VectorAccess& access);
  void release(const Wave& wave);
  void release_by_wait(const Wave& wave);
  void send_or_receive(const Wave& wave, const Op& op, const VectorAccess& access);
  void look_for_unfinished_release(const Wave& wave, const Op& op);
  void note_observation(const Wave& wave, const VectorAccess& access);
  void look_for_order_towards_host(const Wave& wave, const Op& op, const VectorAccess& access);
  bool ordered(const Access& before, const Access& now, Space space) const;
  bool ordered_in_group(const Access& before, const Access& now, Space space) const;
  void compare(const Access& before, AccessKind before_kind, const Access& now, AccessKind kind, Space space, uint64_t address);
  void note_conflict(const Conflict& conflict);
  // Counts a finding; calls `describe` for its text if it is the first with this key.
  template <class Describe>
  void note(const FindingKey& key, Describe describe);
  std::string who(const Access& access) const;
  Finding describe(const Conflict& conflict) const;
  std::string position(const Op& op) const;

  uint64_t seed_;
  bool unordered_atomics_;
  std::mt19937_64 order_;
  uint64_t stride_ = 1, start_ = 0;  // parameters of the permutation of workgroups
  uint64_t entry_ = 0;
  uint64_t fences_ = 0;
  bool full_ = false;  // the limit of the shadow memory has been reached
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // by page number
  std::unordered_map<const Workgroup*, std::pair<uint64_t, std::vector<ShadowCell>>> lds_;  // each with the workgroup's number
  std::unordered_map<uint32_t, GroupClock> clocks_;
  std::unordered_map<uint64_t, uint64_t> messages_;  // by word: the latest release before an atomic write to it
  const Op* issuing_ = nullptr;
  std::set<std::pair<uint32_t, uint32_t>> invalidated_;  // [workgroup, wave] that have invalidated the scalar cache
  const Workgroup* group_ = nullptr;  // the workgroup whose access is being examined
  bool late_ = false;  // a wave has reached a barrier with LDS accesses in flight
  AtomicReordering reordering_;
  std::map<FindingKey, Finding> findings_;
  std::set<FindingKey> reported_;
};

// Passes each access, fence and wait to a race check and then to another observer.
class RaceCheckObserver : public InstructionObserver {
 public:
  explicit RaceCheckObserver(InstructionObserver& inner) : inner_(inner) {}
  void begin(RaceCheck* check) { check_ = check; }

  void vector_access(Wave& wave, const Op& op, const VectorAccess& access) override {
    check_->access(wave, op, access);
    inner_.vector_access(wave, op, access);
  }
  void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) override {
    check_->scalar_access(wave, address, bytes);
    inner_.scalar_access(wave, address, bytes);
  }
  void fence(Wave& wave, const Op& op) override {
    check_->fence(wave, op);
    inner_.fence(wave, op);
  }
  void wait(Wave& wave, const WaitCounts& limits) override {
    check_->wait(wave, limits.vector, limits.scalar);
    inner_.wait(wave, limits);
  }
  uint64_t clock(Wave& wave) override { return inner_.clock(wave); }

 private:
  InstructionObserver& inner_;
  RaceCheck* check_ = nullptr;
};

}  // namespace rpd
