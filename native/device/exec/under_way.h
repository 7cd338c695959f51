// What a wave has under way: the memory accesses that no s_waitcnt has covered yet. Only with a race check.
//
// What the counters of gfx9 say (CDNA3 ISA, "Data dependency resolution"; LLVM AMDGPUUsage, "Memory Model gfx942"):
//  - vmcnt: vector memory accesses, also stores and write-backs of caches, complete in the order of their issue
//  - lgkmcnt: accesses of the LDS do among themselves. Scalar memory accesses complete in any order, and so do flat
//    accesses that go to the LDS: only a wait for 0 says something about them. What else is counted may complete first.
// No more accesses are under way than a counter can count: what comes then waits to be issued.
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

// An access of a wave: the `number`-th of its queue, from 1 on.
struct QueuePosition {
  CompletionQueue queue = CompletionQueue::Vector;
  uint32_t number = 0;
};

// Whether it writes caches back (buffer_wbl2), which is what a release does.
bool writes_back(const Op& op);

class UnderWay {
 public:
  // A register that `load` will write.
  struct Use {
    const Op* load;
    Operand::Kind kind;
    uint16_t reg;
  };

  void issue(const Op& op, bool has_lanes);
  // An access of the LDS by `op`, which was issued last; `alone`: it goes nowhere else.
  QueuePosition reach_lds(const Op& op, bool alone);
  void wait(unsigned vector_left, unsigned scalar_left);
  // The wave comes to the barrier that ends the epoch; true if it has accesses of the LDS under way.
  bool arrive(uint32_t epoch);
  // All stores issued so far have been written back, as another wave knows.
  void cover_stores() { covered_ = issued(CompletionQueue::Vector); }

  bool has_completed(const QueuePosition& position) const { return position.number <= completed_[index(position.queue)]; }
  // At the barrier that ended the epoch.
  bool had_completed(const QueuePosition& position, uint32_t epoch) const;
  uint32_t issued(CompletionQueue queue) const { return issued_[index(queue)]; }
  // Stores at agent or system scope: the numbers behind the first and up to the second may be under way.
  std::pair<uint32_t, uint32_t> wide_stores() const { return {std::max(completed_[0], covered_), wide_store_}; }

  // Write-backs whose wave has nothing from before them under way. Compilers do not wait for the write-back alone. Returns how
  // many there are new.
  size_t take_write_backs();
  // The last other one, or null.
  const Op* write_back() const { return write_backs_.empty() ? nullptr : write_backs_.back().op; }

  bool loads() const { return !loads_.empty(); }
  // A register that `op` reads or writes while a load into it is under way. Forgets that load.
  std::optional<Use> take_use(const Op& op);

 private:
  struct Issued {
    const Op* op;
    QueuePosition position;
  };
  struct Late {
    uint32_t epoch;
    std::array<uint32_t, kCompletionQueues> completed;
  };
  static size_t index(CompletionQueue queue) { return static_cast<size_t>(queue); }

  uint32_t begin(CompletionQueue queue);
  void load(const Op& op, CompletionQueue queue, bool has_lanes);
  void complete(CompletionQueue queue, unsigned left);
  void forget_completed();

  std::array<uint32_t, kCompletionQueues> issued_{}, completed_{}, lds_{};  // lds_: the last that accesses the LDS
  uint32_t wide_store_ = 0, covered_ = 0;
  std::vector<Issued> write_backs_;  // not taken yet; `position` is that of the access before it
  std::vector<Issued> loads_;
  std::vector<Late> late_;   // of epochs at whose end something was under way, in their order
};

}  // namespace rpd
