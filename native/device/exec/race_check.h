// Looks for races between the waves of a kernel: conflicting accesses that nothing orders.
//
// Two accesses to the same byte conflict if they come from different waves, at least one writes, and they are not both
// atomic. What orders them:
//  - in one workgroup: a barrier between them (they lie in different epochs of the workgroup);
//  - across workgroups, in global memory: a release by the first (a write-back, buffer_wbl2, after its access) and
//    then an acquire by the second (buffer_inv) before its own. Which location carries the message is not asked.
// An access at agent or system scope (sc1) counts as atomic: so does the compiler write atomic loads and stores. Scalar
// loads are left out, for compilers use them only for memory that the kernel does not write. Lanes of one wave run in
// lockstep and do not race. Only the last write and two readers of each place are remembered: with more, a race can
// hide behind another one, but none is made up.
//
// Waves and workgroups run in a permuted order that depends on the seed, on one host thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/observer.h"
#include "exec/workgroup.h"

namespace rpd {

class RaceCheck {
 public:
  explicit RaceCheck(uint64_t seed) : seed_(seed) {}

  void begin(const Kernel& kernel);
  // One line for each pair of instructions that raced and was not reported before, and forgets all accesses.
  std::vector<std::string> end();

  // The order of execution.
  uint64_t permuted(uint64_t group, uint64_t group_count) const;
  size_t first_wave(size_t wave_count) { return order_() % wave_count; }

  void access(const Wave& wave, const Op& op, const VectorAccess& access);
  void fence(const Wave& wave, const Op& op);

 private:
  // Who touched a place, and when on its workgroup's own clocks.
  struct Access {
    const Op* op = nullptr;  // null: nobody
    uint32_t group = 0;
    uint32_t epoch = 0;
    uint32_t releases = 0;   // that the workgroup had made before
    uint16_t wave = 0;
    uint8_t bytes = 0;       // of the place, a bit each
    bool atomic = false;
  };
  // Four bytes of memory.
  struct Place {
    Access write;
    std::array<Access, 2> reads;
    uint8_t written = 0;     // bytes, ever
  };
  static constexpr uint64_t kPlaceBytes = 4;
  static constexpr uint64_t kPagePlaces = 1024;
  using Page = std::array<Place, kPagePlaces>;

  struct GroupClock {
    std::vector<uint64_t> releases;  // when, in fences of the whole dispatch
    uint64_t acquired = 0;
  };
  struct Finding {
    Access first, second;
    AccessKind first_kind, second_kind;
    Space space;
    uint64_t address;
    uint64_t count = 0;
  };
  using Pair = std::array<uint64_t, 3>;  // both pcs, and the kind of finding

  Place* global_place(uint64_t word);
  Place& lds_place(const Wave& wave, uint64_t word);
  void touch(Place& place, const Access& now, AccessKind kind, Space space, uint64_t address);
  bool ordered(const Access& before, const Access& now) const;
  void compare(const Access& before, AccessKind before_kind, const Access& now, AccessKind kind, Space space, uint64_t address);
  void note(const Finding& finding);
  std::string describe(const Finding& finding) const;

  uint64_t seed_;
  std::mt19937_64 order_;
  uint64_t stride_ = 1, start_ = 0;  // of the permutation of workgroups
  uint64_t entry_ = 0;
  uint64_t fences_ = 0;
  bool full_ = false;                // the shadow memory's limit is reached
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;           // by page number
  std::unordered_map<const Workgroup*, std::pair<uint64_t, std::vector<Place>>> lds_;  // with the workgroup's number
  std::unordered_map<uint32_t, GroupClock> clocks_;
  std::map<Pair, Finding> found_;
  std::map<Pair, bool> reported_;
};

// Puts a race check in front of another observer.
class RaceCheckedMemory : public Observer {
 public:
  explicit RaceCheckedMemory(Observer& inner) : inner_(inner) {}
  void begin(RaceCheck* check) { check_ = check; }

  void vector_access(Wave& wave, const Op& op, const VectorAccess& access) override {
    check_->access(wave, op, access);
    inner_.vector_access(wave, op, access);
  }
  void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) override { inner_.scalar_access(wave, address, bytes); }
  void fence(Wave& wave, const Op& op) override {
    check_->fence(wave, op);
    inner_.fence(wave, op);
  }
  void wait(Wave& wave, unsigned vector_left, unsigned scalar_left) override { inner_.wait(wave, vector_left, scalar_left); }

 private:
  Observer& inner_;
  RaceCheck* check_ = nullptr;
};

}  // namespace rpd
