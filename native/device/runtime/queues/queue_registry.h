// Maps doorbells to the hardware queues behind them.
//
// A program rings a doorbell signal, which is visible at the tools interface (queue_hooks.cpp) but not at the thunk's
// interface. The registry combines what is known about a queue at the two interfaces.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

namespace rpd {

class AqlQueue;

using QueueErrorCallback = void (*)(hsa_status_t status, hsa_queue_t* queue, void* data);

// A queue as the program sees it.
struct ProgramQueue {
  hsa_queue_t* queue = nullptr;
  QueueErrorCallback error_callback = nullptr;
  void* error_data = nullptr;
  // The queue that executes its packets. For an intercept queue, ROCr copies packets from the program's ring to the hardware
  // queue's ring; otherwise the two queues share a ring.
  std::weak_ptr<AqlQueue> hardware;
  bool intercepted = false;
  std::vector<uint32_t> mask;    // enabled compute units, one bit each; empty: all; guarded by `stamping`
  std::mutex stamping;
  uint64_t next_unstamped = 0;   // no packet from this index on is stamped ...
  std::set<uint64_t> unstamped;  // ... and none of these before it; both guarded by `stamping`
};

class QueueRegistry {
 public:
  void created(const std::shared_ptr<AqlQueue>& queue);
  // The AQL queue that was most recently created on the calling thread; null if none has been created there since the thread
  // last called this function.
  std::shared_ptr<AqlQueue> take_last_created();

  void add(const std::shared_ptr<ProgramQueue>& queue);
  void remove(const hsa_queue_t* queue);
  std::shared_ptr<ProgramQueue> by_doorbell(hsa_signal_t doorbell) const;
  std::shared_ptr<ProgramQueue> by_hardware(const AqlQueue* queue) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<ProgramQueue>> by_doorbell_;
  // Not thread_local: a thread's thread_local objects are destroyed before HIP's own objects, which may create queues until the
  // very end.
  std::unordered_map<std::thread::id, std::weak_ptr<AqlQueue>> last_created_;
};

// Never destroyed: threads outlive static destructors.
QueueRegistry& queue_registry();

}  // namespace rpd
