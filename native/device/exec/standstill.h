// Finds out that the waves of a dispatch only wait for memory to change.
//
// A wave that waits goes round a loop. When all resident waves are where they were some rounds ago, with the same
// registers, LDS and private memory, and the same again after as many rounds more in which the memory that they access
// has not changed either, then nothing but a change of that memory from outside can make them do anything else: the
// engine executes them in a fixed order. Until it changes they need not be executed, and however long that takes,
// their counters and times are the same.
//
// Waves that read a clock, or count how often they have looked, are never found so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/access_watch.h"
#include "exec/xcd.h"

namespace rpd {

class Standstill {
 public:
  using Xcds = std::vector<std::unique_ptr<Xcd>>;

  Standstill(const Xcds& xcds, const AddressSpace& memory) : xcds_(xcds), memory_(memory) {}

  // After each round of all XCDs: whether nothing can happen any more but by others.
  bool after_round();
  // Then: whether the memory has changed, so that it is worth going on.
  bool is_over() const { return watch_.differs(memory_, contents_); }
  // The waves go on: looks again soon.
  void resume();

  // "2 waves at pc 0x1000 (entry + 0x10): s_cbranch_scc0 65530; they look at 0x7f0000 (4 bytes)"
  std::string describe(const Kernel& kernel) const;

 private:
  enum class Phase : uint8_t { Rest, Glance, FirstPeriod, SecondPeriod };

  // Where a wave is, and what is quick to compare of it.
  struct Position {
    const Wave* wave;
    const Op* pc;
    uint64_t group;
    uint32_t epoch;
    uint32_t mode;
    bool scc;
    WaveState state;
    uint32_t scalar[kScalarRegisters];
  };

  template <class F>
  void for_each_group(F f) const;
  void take_positions();
  bool same_positions() const;
  std::vector<uint64_t> digest() const;
  void set_watch(AccessWatch* watch);

  bool rest();
  bool glance();
  bool first_period();
  bool second_period();
  bool give_up();
  bool enter(Phase phase);

  static constexpr uint64_t kFirstRest = 64;       // rounds before a first look, doubled each time in vain ...
  static constexpr uint64_t kLongestRest = 4096;    // ... up to this
  static constexpr uint64_t kRestAfterWaiting = 4;
  static constexpr uint64_t kLongestPeriod = 64;   // rounds

  const Xcds& xcds_;
  const AddressSpace& memory_;
  Phase phase_ = Phase::Rest;
  uint64_t rounds_ = 0;  // in this phase
  uint64_t rest_ = kFirstRest;
  uint64_t period_ = 0;
  std::vector<Position> positions_;
  std::vector<uint64_t> digest_;   // of registers, LDS and private memory, by workgroup
  AccessWatch watch_;
  size_t accessed_ = 0;            // in the first period
  std::vector<uint8_t> contents_;  // of the memory that they access
};

}  // namespace rpd
