// The dispatches in flight on all devices of the process.
//
// Although each device has its own engine, all dispatches take turns under a single schedule. So what a kernel sees in another
// device's memory does not depend on the speed of the host. In modelled time, kernels on different devices overlap.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "runtime/deadlock_detector.h"
#include "runtime/engine_scheduler.h"

namespace rpd {

class AqlQueue;
class Device;
class DispatchExecution;

// A dispatch in flight.
struct DispatchInFlight {
  Device& device;
  AqlQueue& queue;
  uint64_t kernel_object;
  uint64_t start;
  std::shared_ptr<DispatchExecution> execution;
  uint64_t number;  // from 1
  uint64_t min_duration = 0;  // for a dispatch that waited for another one: the time up to its release ...
  uint64_t instructions_before_release = 0;  // ... and the instructions that it had executed by then
};

struct DispatchesInFlight {
  DispatchesInFlight();

  EngineScheduler scheduler;  // guards the engines of all devices and the members below
  std::list<DispatchInFlight> list;
  uint64_t begun = 0;  // dispatches
  uint64_t ended = 0;
  uint64_t latest_end = 0;  // virtual time at which the last of these ended
  std::atomic<bool> deadlocked{false};
  std::string deadlock_story;
  DeadlockDetector deadlock_detector;
};

// Never destroyed: queues may run until the process ends.
DispatchesInFlight& dispatches_in_flight();

}  // namespace rpd
