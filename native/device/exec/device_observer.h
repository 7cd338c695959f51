// Interfaces for counting and timing what a device executes, from single instructions to whole dispatches. Observers do not
// change what is computed, except for the value of a clock that a kernel reads. `timing/` implements these interfaces; the code
// in `exec/` knows `timing/` only through them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/dispatched_kernel.h"
#include "exec/engine.h"
#include "exec/instruction_events.h"
#include "exec/issue_log.h"
#include "exec/workgroup.h"

namespace rpd {

// Watches one XCD, dispatch after dispatch.
class XcdObserver : public InstructionObserver {
 public:
  virtual void begin(const DispatchedKernel& kernel, uint32_t resident_groups) = 0;
  // The workgroup has been placed in its slot. Sets its waves' `timing` if the observer keeps per-wave state.
  virtual void launched(Workgroup& group) = 0;
  // The wave has issued `runs` since the last report. Until this call they are in its log, Wave::issued. If another event is
  // reported before this call, it was caused by the last instruction in the log.
  virtual void issued(Wave& wave, std::span<const IssuedRun> runs) = 0;
  // All remaining waves of the workgroup have reached the barrier and continue.
  virtual void barrier_passed(Workgroup& group) = 0;
  virtual void ended(const Wave& wave) = 0;
};

// Watches the XCDs of a context, in which dispatches run one after another.
class ContextObserver {
 public:
  virtual ~ContextObserver() = default;
  virtual XcdObserver& xcd(uint32_t index) = 0;
  // The dispatch has ended. Fills in duration, counters and timeline, unless the result is an error.
  virtual void end(const DispatchedKernel& kernel, DispatchResult& result) = 0;
  // Empties the context's caches.
  virtual void invalidate_caches() = 0;
};

// Watches a device: holds the state that concurrent dispatches share and pass on to later ones.
class DeviceObserver {
 public:
  virtual ~DeviceObserver() = default;
  // The context's observer must not outlive this object.
  virtual std::unique_ptr<ContextObserver> new_context() = 0;
  // Empties the caches that all contexts share.
  virtual void invalidate_caches() = 0;
  // Something other than a kernel has written to the device's memory.
  virtual void written_elsewhere(uint64_t address, uint64_t bytes) = 0;
};

}  // namespace rpd
