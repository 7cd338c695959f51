// What all queues of the device share: a thread that serves the ring, and a virtual time up to which it has.
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
  // Waits for the thread as long as `patience`; false if it is still busy (with a long kernel) then. In either
  // case the queue touches neither ring nor signals any more once this returned, except for a kernel's own stores.
  bool stop(std::chrono::milliseconds patience);
  // There may be new packets.
  void wake() { work_.announce(); }

  // Has packets and neither waits for something else nor has given up.
  virtual bool progresses() const;

  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  // Has a packet that its thread will take up at once, and that was submitted before this virtual time.
  virtual bool is_about_to_serve(uint64_t) const { return false; }

  uint64_t ring_address() const { return info_.ring_base_address; }

 protected:
  // Serves the packets that are there; whether there were any.
  virtual bool serve_packets() = 0;

  // No further packet will be served.
  void give_up() { blocked_.store(true, std::memory_order_release); }
  // Blocks until `condition` holds; false if the queue is being stopped before.
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
