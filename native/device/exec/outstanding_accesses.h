// A wave's memory accesses in flight: those that no s_waitcnt has covered yet. Used only by the race check.
//
// The counters of gfx9 (CDNA3 ISA, "Data dependency resolution"; LLVM AMDGPUUsage, "Memory Model gfx942"):
//  - vmcnt: vector memory accesses, including stores and cache write-backs, complete in issue order
//  - lgkmcnt: LDS accesses complete in order among themselves. Scalar memory accesses complete in any order, and so do flat
//    accesses that go to the LDS: only a wait for 0 guarantees anything about them, since other accesses may complete first.
// The number of accesses in flight never exceeds what a counter can count: further accesses wait to be issued.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "isa/op.h"

namespace rpd {

enum class CompletionQueue : uint8_t { Vector, Lds, Unordered };
constexpr size_t kCompletionQueues = 3;

// A wave's access: the `number`-th in its queue, counting from 1.
struct QueuePosition {
  CompletionQueue queue = CompletionQueue::Vector;
  uint32_t number = 0;
};

// Whether the instruction writes caches back (buffer_wbl2), as a release does.
bool writes_back(const Op& op);

class OutstandingAccesses {
 public:
  // A register that an instruction uses before `load` has written it.
  struct EarlyUse {
    const Op* load;
    Operand::Kind kind;
    uint16_t reg;
  };

  void issue(const Op& op, bool has_lanes);
  // Records an LDS access by `op`, the most recently issued instruction. `alone`: `op` accesses nothing else.
  QueuePosition reach_lds(const Op& op, bool alone);
  void wait(unsigned vector_left, unsigned scalar_left);
  // To be called when the wave reaches the barrier that ends the epoch. Returns whether it has LDS accesses in flight.
  bool arrive(uint32_t epoch);
  // Notes that the wave has waited for all of its vector memory accesses in this epoch of its workgroup.
  void wait_for_all(uint32_t epoch) { waited_epoch_ = epoch + 1; }
  // The number of epochs up to and including the last one for which wait_for_all() was called.
  uint32_t waited_epochs() const { return waited_epoch_; }
  // Notes that a release in the workgroup has written back all stores that this wave has issued so far.
  void cover_stores() { covered_ = issued(CompletionQueue::Vector); }

  bool has_completed(const QueuePosition& position) const { return position.number <= completed_[index(position.queue)]; }
  // Whether the access had completed at the barrier that ended the epoch.
  bool had_completed(const QueuePosition& position, uint32_t epoch) const;
  uint32_t issued(CompletionQueue queue) const { return issued_[index(queue)]; }
  // Of the stores that may be at agent or system scope, those numbered above the first value and up to the second may be in
  // flight.
  std::pair<uint32_t, uint32_t> wide_stores() const { return {std::max(completed_[0], covered_), wide_store_}; }

  // Removes the write-backs whose preceding accesses have all completed, and returns how many there were. A write-back itself
  // may still be in flight, but compilers never wait for the accesses before it without also waiting for it.
  size_t take_write_backs();
  // The last write-back that has not been removed yet, or null.
  const Op* write_back() const { return write_backs_.empty() ? nullptr : write_backs_.back().op; }

  bool loads() const { return !loads_.empty(); }
  // A register that `op` reads or writes while a load into it is in flight. Forgets that load.
  std::optional<EarlyUse> take_early_use(const Op& op);

 private:
  struct IssuedAccess {
    const Op* op;
    QueuePosition position;
  };
  struct EpochWithLateAccesses {
    uint32_t epoch;
    std::array<uint32_t, kCompletionQueues> completed;
  };
  static size_t index(CompletionQueue queue) { return static_cast<size_t>(queue); }

  uint32_t begin(CompletionQueue queue);
  void load(const Op& op, CompletionQueue queue, bool has_lanes);
  void complete(CompletionQueue queue, unsigned remaining);
  void forget_completed();

  std::array<uint32_t, kCompletionQueues> issued_{}, completed_{}, lds_{};  // lds_: the last access to the LDS
  uint32_t wide_store_ = 0, covered_ = 0, waited_epoch_ = 0;
  std::vector<IssuedAccess> write_backs_;  // not removed yet; `position` is that of the preceding access
  std::vector<IssuedAccess> loads_;
  std::vector<EpochWithLateAccesses> late_;  // one for each epoch that ended with LDS accesses in flight, in order
};

}  // namespace rpd
