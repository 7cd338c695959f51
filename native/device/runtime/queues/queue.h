// What all queues of the device have in common: a thread that serves the ring.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/model_interface.h"
#include "runtime/queues/event_count.h"

namespace rpd {

class Device;

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(Device& device, const model::QueueInfo& info) : device_(device), info_(info) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The thread keeps the queue alive for as long as it runs.
  void start();
  // Waits up to `patience` for the thread to finish; returns false if it is still busy (with a long kernel) after that. Either
  // way, once this has returned, the queue no longer accesses the ring or signals, except through a kernel's own stores.
  bool stop(std::chrono::milliseconds patience);
  // Tells the thread that there may be new packets.
  void wake() { work_.announce(); }

  // Whether the queue has packets, is not waiting for anything else, and has not given up.
  virtual bool can_make_progress() const;

  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  // Whether the queue has a packet that was submitted before this virtual time and that its thread will serve at once.
  virtual bool is_about_to_serve(uint64_t) const { return false; }

  uint64_t ring_address() const { return info_.ring_base_address; }

 protected:
  // Serves the packets in the ring; returns whether there were any packets.
  virtual bool serve_packets() = 0;

  // Stops serving packets for good.
  void give_up() { blocked_.store(true, std::memory_order_release); }
  // Blocks until `condition` holds; returns false if the queue is stopped first.
  bool wait_until(const std::function<bool()>& condition);

  Device& device_;
  const model::QueueInfo info_;

 private:
  void serve();

  EventCount work_;
  std::atomic<bool> blocked_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

}  // namespace rpd
