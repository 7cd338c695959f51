// Detects which dispatches and copies have completed, records their times and counters, and only then completes the
// application's own signals, so whatever the program has seen complete is already in the spool.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/hsa.h"
#include "common/signal_pool.h"

namespace rpd::tracer {

enum class OperationKind : uint8_t { dispatch, copy };

// One operation in flight. `program_signal` is the application's signal that the tracer's signal replaces (handle 0: none).
struct OperationInFlight {
  hsa_signal_t signal, program_signal;
  hsa_agent_t agent;
  uint64_t id;
  uint64_t packet;  // its number in its queue; 0 for a copy
  OperationKind kind;
  bool keeps_counters = false;
};

// The dispatches in flight in one queue, or all copies in flight.
class InFlightList {
 public:
  void push(const OperationInFlight& operation);
  void take_completed(std::vector<OperationInFlight>& into);
  bool waits_for(hsa_signal_t signal);
  bool empty();

  // The latest packet known to be complete; its queue has read all packets before it.
  uint64_t last_completed() const { return last_completed_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<OperationInFlight> unawaited_;     // in submission order; no thread waits for their signals
  std::vector<OperationInFlight> awaited_;  // the program may wait for any of their signals
  std::atomic<uint64_t> last_completed_{0};
};

class Collector {
 public:
  void start();
  void stop();

  InFlightList& add_list();

  // A signal to stand in for `program_signal` (which may be 0), or handle 0 if none is available, in which case the caller
  // submits the operation with the program's own signal; a dispatch is then recorded without times.
  hsa_signal_t stand_in_for(hsa_signal_t program_signal);
  void submitted(InFlightList& list, const OperationInFlight& operation);
  void refused(const OperationInFlight& operation) { pool_for(operation.program_signal).give_back(operation.signal); }

  // Records everything that has completed so far. Called by any application thread that is about to see something complete,
  // before the application learns of it; by ROCr's event thread for signals that stand in for the application's; and from time
  // to time by one of the tracer's threads, for operations that no thread asks about.
  void collect();

  // Waits until nothing is in flight or the limit has passed.
  void drain(uint64_t limit_ns);

  // Destroys the signals that are not in use. ROCr warns about signals that remain at shutdown.
  void give_up_signals();

  // The times of a copy whose application signal the tracer completed: ROCr knows only the times of the tracer's signal.
  bool copy_times(hsa_signal_t program_signal, hsa_amd_profiling_async_copy_time_t& times);

 private:
  static bool on_completion(hsa_signal_value_t value, void* self);
  void run();
  bool idle();
  bool waits_for(hsa_signal_t signal);
  void finish(const OperationInFlight& operation);
  void forward(const OperationInFlight& operation, uint64_t start, uint64_t end);
  SignalPool& pool_for(hsa_signal_t program_signal) {
    return program_signal.handle != 0 ? awaited_signals_ : unawaited_signals_;
  }

  SignalPool unawaited_signals_{HSA_AMD_SIGNAL_AMD_GPU_ONLY}, awaited_signals_{0};
  std::mutex lists_mutex_;
  std::vector<std::unique_ptr<InFlightList>> lists_;
  std::mutex collect_mutex_;
  std::vector<OperationInFlight> batch_;
  std::vector<double> counters_, errors_;
  std::mutex copies_mutex_;
  std::unordered_map<uint64_t, hsa_amd_profiling_async_copy_time_t> forwarded_copies_;  // by signal
  std::thread thread_;
  std::counting_semaphore<> wake_{0};
  std::atomic<bool> asleep_{false}, stopping_{false};
};

Collector& the_collector();

}  // namespace rpd::tracer
