// Wakes host threads that sleep in the thunk until an event occurs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "runtime/model_interface.h"

namespace rpd {

class EventWakeups {
 public:
  void set_callback(model::SetEvent set_event, void* data);

  // Raises the event as an interrupt would; has no effect after close(), since the thunk's model would abort for an event that
  // has been destroyed.
  void raise(uint32_t event_id);

  // The thunk's set_event can lose the wake-up of a thread that is about to go to sleep. From now on every raise is followed by
  // a few more broadcasts, made by setting `spare_event`, which no thread waits for: a sleeping thread rechecks its own events
  // on every broadcast. Without them, ROCr's event thread could sleep forever.
  void open(uint32_t spare_event);
  // Nothing is raised from now on, so all events may be destroyed: on shutdown, ROCr destroys them before the queues, on
  // which kernels may still complete.
  void close();

 private:
  void rebroadcast();

  model::SetEvent set_event_ = nullptr;
  void* data_ = nullptr;
  std::mutex mutex_;
  std::condition_variable raised_;
  uint64_t raises_ = 0;
  bool closed_ = false;
  bool running_ = false;
  uint32_t spare_event_ = 0;
  std::thread thread_;
};

}  // namespace rpd
