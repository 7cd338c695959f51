// Detects when the waves of a dispatch do nothing but wait for memory to change.
//
// A waiting wave runs in a loop. Suppose that all resident waves are where they were some rounds ago, with the same registers,
// LDS and private memory. Suppose also that this holds after another period of the same length, during which the memory that
// they access has not changed either. The engine executes the waves in a fixed order, so only an outside change to that memory
// can make them do anything else. Until then they need not be executed, and their counters and times do not depend on how long
// the wait takes.
//
// Waves that read a clock, or count how often they have polled, are never detected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/access_watch.h"
#include "exec/dispatched_kernel.h"
#include "exec/xcd.h"

namespace rpd {

class BusyWaitDetector {
 public:
  using Xcds = std::vector<std::unique_ptr<Xcd>>;

  BusyWaitDetector(const Xcds& xcds, const AddressSpace& memory) : xcds_(xcds), memory_(memory) {}

  // Called after each round of all XCDs. Returns whether the waves can make no progress without a change from outside.
  bool after_round();
  // During a standstill: whether the accessed memory has changed, so that resuming execution is worthwhile.
  bool is_over() const { return watch_.differs(memory_, contents_); }
  // Ends a standstill: the waves continue, and the next check comes soon.
  void resume();

  // "2 waves at pc 0x1000 (entry + 0x10): s_cbranch_scc0 65530; the memory that they poll begins at 0x7f0000, 1 place"
  std::string describe(const DispatchedKernel& kernel) const;

 private:
  enum class Phase : uint8_t { Rest, LookForRepeat, FirstPeriod, SecondPeriod };

  // Where a wave is, and the parts of its state that are fast to compare.
  struct Position {
    const Wave* wave;
    const Op* pc;
    uint64_t group;
    uint32_t epoch;
    uint32_t mode;
    bool scc;
    WaveState state;
    uint32_t scalar[kScalarWords];
  };

  template <class F>
  void for_each_group(F f) const;
  void take_positions();
  bool same_positions() const;
  std::vector<uint64_t> digest() const;
  void set_watch(AccessWatch* watch);

  bool rest();
  bool look_for_repeat();
  bool first_period();
  bool second_period();
  bool give_up();
  bool enter(Phase phase);

  static constexpr uint64_t kFirstRest = 64;       // rounds before the first check; doubled after each failed check ...
  static constexpr uint64_t kMaxRest = 4096;    // ... up to this
  static constexpr uint64_t kRestAfterWaiting = 4;
  static constexpr uint64_t kMaxPeriod = 64;   // rounds

  const Xcds& xcds_;
  const AddressSpace& memory_;
  Phase phase_ = Phase::Rest;
  uint64_t rounds_ = 0;  // in this phase
  uint64_t rest_ = kFirstRest;
  uint64_t period_ = 0;
  std::vector<Position> positions_;
  std::vector<uint64_t> digest_;   // of each workgroup's registers, LDS and private memory
  AccessWatch watch_;
  size_t accessed_ = 0;            // number of accesses in the first period
  std::vector<uint8_t> contents_;  // of the memory that the waves access
};

}  // namespace rpd
