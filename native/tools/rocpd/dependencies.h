// Determines the exact dependencies between operations: for every dispatch and copy, the operations on which it directly
// depends. They follow from what was submitted, which signals each submission completes and waits for, and what the host had
// seen.
//
// "Directly" means transitively reduced: of all operations that are certain to be complete when an operation starts, only those
// that are not implied by any of the others are listed. Barrier packets order operations without being operations themselves;
// they pass on what they wait for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace rpd::rocpd {

// What orders two operations. A path of several links is as strong as its weakest link, which is the one with the largest
// value.
enum class EdgeKind : uint8_t {
  queue,  // the queue's own order: barrier bit or barrier packet
  signal,  // a completion signal that a packet or a copy waits for
  host,  // the submitting thread had seen the operation complete
};

// The place of an operation in the order of one queue, or of all copies.
struct Position {
  uint32_t chain, index;
  bool operator==(const Position&) const = default;
};

inline constexpr uint32_t kCopies = 0;  // the chain of all copies; queues follow

// An edge to a dispatch or copy, which is identified by its id. Operations are kept only in the form of edges to them, so an
// operation takes no memory once nothing can directly depend on it any longer.
struct Edge {
  uint64_t id;
  Position position;
  EdgeKind kind;
  bool is_to_copy() const { return position.chain == kCopies; }
};

// A set of operations that, along with each operation, contains everything before it. Nearly always this means "everything up
// to here" for each queue, so the set is stored as a prefix length per chain plus the few positions beyond the prefix.
class DownwardClosedSet {
 public:
  bool contains(Position position) const;
  void insert(Position position);
  void insert_all(const DownwardClosedSet& other);

 private:
  struct Chain {
    uint32_t prefix = 0;
    std::vector<uint32_t> beyond;  // sorted
  };
  static void absorb(Chain& chain);

  std::vector<Chain> chains_;
};

// The operations known to be complete at some moment, and the maximal ones among them, which imply the rest.
struct Knowledge {
  DownwardClosedSet complete;
  std::vector<Edge> frontier;
};

using SharedKnowledge = std::shared_ptr<const Knowledge>;

class DependencyTracker {
 public:
  // Must be called in the order in which everything was recorded. Signal handle 0 means no signal; a signal that no recorded
  // operation completes is completed by the host alone and imposes no order here. dispatch() and copy() return the direct
  // predecessors of the new operation.
  std::vector<Edge> dispatch(uint64_t id, uint32_t queue, uint32_t thread, bool barrier_bit, uint64_t completion_signal);
  std::vector<Edge> copy(uint64_t id, uint32_t thread, std::span<const uint64_t> signals, uint64_t completion_signal);

  // A packet that only waits. `blocks`: whether later packets in the queue wait for it even without a barrier bit.
  void barrier(uint32_t queue, uint32_t thread, bool barrier_bit, bool blocks, std::span<const uint64_t> signals,
               uint64_t completion_signal);

  void observed(uint32_t thread, uint64_t signal);
  void signal_destroyed(uint64_t signal);

 private:
  struct Queue {
    uint32_t chain;
    SharedKnowledge all;  // what is complete once everything submitted so far is complete
    SharedKnowledge blocking;  // what is complete once the last blocking packet is complete
  };

  Queue& queue(uint32_t id);
  Position next_position(uint32_t chain);
  SharedKnowledge waited_for(std::span<const uint64_t> signals, SharedKnowledge so_far) const;
  SharedKnowledge merge(const SharedKnowledge& into, const SharedKnowledge& from, EdgeKind at_least) const;
  SharedKnowledge after(const SharedKnowledge& before, uint64_t id, Position position) const;
  void completes(uint64_t signal, const SharedKnowledge& knowledge);

  std::vector<uint32_t> chain_lengths_{0};
  std::unordered_map<uint32_t, Queue> queues_;
  std::unordered_map<uint32_t, SharedKnowledge> threads_;
  std::unordered_map<uint64_t, SharedKnowledge> signals_;
};

}  // namespace rpd::rocpd
