// Who counts and times what a device executes, from the instruction to the dispatch. They watch; they never change what is
// computed. `timing/` implements this; execution knows nothing else of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "exec/issue_log.h"
#include "exec/observer.h"
#include "exec/workgroup.h"

namespace rpd {

// Watches one XCD of a dispatch after another.
class XcdObserver : public Observer {
 public:
  virtual void begin(const Kernel& kernel, uint32_t resident_groups) = 0;
  // The workgroup has got its slot. Sets its waves' `timing`, if it keeps something for each.
  virtual void launched(Workgroup& group) = 0;
  // The wave has issued these, after what was told before. Meanwhile they are in its log, Wave::issued, which ends with the
  // instruction that whatever else is told of is by.
  virtual void issued(Wave& wave, std::span<const IssuedRun> runs) = 0;
  // All waves that the workgroup still has are at the barrier, and go on.
  virtual void meet(Workgroup& group) = 0;
  virtual void ended(const Wave& wave) = 0;
};

// Watches the XCDs of a slot, where one dispatch runs after another.
class DispatchObserver {
 public:
  virtual ~DispatchObserver() = default;
  virtual XcdObserver& xcd(uint32_t index) = 0;
  // The dispatch has ended. Fills in duration, counters and timeline, unless the result is an error.
  virtual void end(const Kernel& kernel, DispatchResult& result) = 0;
  // Nothing is left in the slot's caches.
  virtual void forget_caches() = 0;
};

// Watches a device: what several dispatches at a time leave for those after them.
class DeviceObserver {
 public:
  virtual ~DeviceObserver() = default;
  // Lives no longer than this.
  virtual std::unique_ptr<DispatchObserver> new_slot() = 0;
  // Nothing is left in the caches that all slots share.
  virtual void forget_caches() = 0;
  // Something other than a kernel has written to the device's memory.
  virtual void written_elsewhere(uint64_t address, uint64_t bytes) = 0;
};

}  // namespace rpd
