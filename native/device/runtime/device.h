// One software GPU, which owns its memory map, its engine and its queues. A process can have several.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "memory/address_space.h"
#include "memory/allocation_map.h"
#include "runtime/dispatches_in_flight.h"
#include "runtime/model_interface.h"
#include "runtime/queues/event_wakeups.h"
#include "runtime/queues/pm4_commands.h"
#include "runtime/queues/queue.h"
#include "timing/concurrent_dispatches.h"

namespace rpd {

class AqlQueue;

class Device {
 public:
  Device();
  ~Device();  // all queues must have been stopped

  Owner number() const { return allocations_.device(); }  // from 0, in the order of the topology's nodes
  uint32_t node() const;                                  // the device's node in the topology

  // Called by the thunk.
  void set_aperture(void* base, uint64_t size);
  // Memory of any device or of the host; `granted`: see AllocationMap::add().
  void memory_allocated(uint64_t address, uint64_t size, Owner owner, bool granted);
  void memory_freed(uint64_t address, uint64_t size);
  Queue* create_queue(const model::QueueInfo& info);
  void destroy_queue(Queue* queue);
  // Stops every queue, waiting for at most `patience` for each. Returns whether all have stopped; if not, a long kernel is
  // still running and the device must not be destroyed.
  bool stop_queues(std::chrono::milliseconds patience);

  // Called by tools; see rocm_perf_device.h.
  int map_memory(uint64_t address, uint64_t size, int file);
  int unmap_memory(uint64_t address, uint64_t size);
  void invalidate_caches();
  // Called by copy engines.
  void copied_to(uint64_t address, uint64_t bytes);
  // Returns false, without changing anything, if a dispatch is in flight.
  bool set_options(const EngineOptions& options);

  // Called by queues.
  const AddressSpace& memory() const { return memory_; }
  AllocationMap& allocations() { return allocations_; }
  // Runs a dispatch that starts at virtual time `start`. The result is meaningless if the queue is being stopped.
  DispatchResult run(const DispatchRequest& request, uint64_t start, AqlQueue& queue, uint64_t submitted);
  // Runs PM4 commands. Returns an empty string, or the reason why they could not be run.
  std::string run_commands(const Pm4IbPacket& packet, QueueRegisters& queue);
  Pm4Commands& pm4_commands() { return pm4_commands_; }
  // Called when the packet that `signal_address` belongs to has finished: writes the packet's times to the signal, as
  // timestamps, then decrements the signal and wakes whoever is waiting for it. Does nothing for address 0.
  void complete(uint64_t signal_address, uint64_t start, uint64_t end);

  EventWakeups& wakeups() { return wakeups_; }
  void wake_queues();
  // Whether any queue can make progress (see Queue::can_make_progress).
  bool can_make_progress();
  // Whether any queue has a packet that was submitted before this virtual time and that the queue's thread will serve right
  // away.
  bool is_about_to_serve(uint64_t time);
  // Describes where the waves of a dispatch in flight on this device are.
  std::string describe_positions(const DispatchInFlight& flight) const;

 private:
  std::unique_ptr<Engine> new_engine(const EngineOptions& options);
  // Waits until no dispatch has the engine, then runs `task`.
  void with_engine(const std::function<void()>& task);
  void extend_device_range(uint64_t address, uint64_t size);
  void invalidate_stale_caches();
  bool await_engine(AqlQueue& queue);
  void show_progress(const DispatchInFlight& flight);
  bool wait(DispatchInFlight& flight);
  void note_wait_end(DispatchInFlight& flight, uint64_t ended_before);
  DispatchResult execute(const DispatchRequest& request, uint64_t start, AqlQueue& queue);
  DispatchResult finish(const DispatchRequest& request, DispatchInFlight& flight);
  uint64_t duration(const DispatchInFlight& flight, const DispatchResult& result);

  AllocationMap allocations_;
  AddressSpace memory_{&allocations_};
  EventWakeups wakeups_;

  std::unique_ptr<Engine> engine_;  // guarded by the scheduler of the dispatches in flight, as is concurrent_
  ConcurrentDispatches concurrent_;
  Pm4Commands pm4_commands_{memory_};

  std::mutex stale_mutex_;
  bool stale_l2_ = false;
  std::vector<std::pair<uint64_t, uint64_t>> stale_code_;  // first address, size
  std::vector<std::pair<uint64_t, uint64_t>> copied_to_;   // the same, for copies since the last dispatch began

  std::mutex queues_mutex_;
  std::vector<std::shared_ptr<Queue>> queues_;
};

// All devices of the process. The thunk destroys a device when ROCr shuts down, after its queues have stopped; if a kernel is
// still running then, the device is never destroyed.
std::vector<Device*> devices();
// The device at this node of the topology; null if there is none.
Device* device_of_node(uint32_t node);
bool any_device_can_make_progress();

}  // namespace rpd
