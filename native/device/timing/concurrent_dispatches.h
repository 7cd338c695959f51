// Dispatches of several queues that run at the same time share the device.
#pragma once

#include <cstdint>
#include <deque>

#include "exec/device_use.h"

namespace rpd {

// The device's use over virtual time. A new dispatch gets what the earlier ones leave. Those have reported
// their times already, so they are not slowed down: a long one behaves as if it came first. However, a short dispatch does not
// wait for the whole of a long one that fills the device, because slots become free as workgroups end: each dispatch lends
// `kLent` of its time, of which later ones get equal shares.
class ConcurrentDispatches {
 public:
  // Adds a dispatch that starts at `start` and takes `alone` ns on an idle device. Returns how long it takes while the others
  // run.
  uint64_t add(uint64_t start, uint64_t alone, const DeviceUse& use);

 private:
  static constexpr double kLent = 0.05;
  static constexpr size_t kKept = 256;

  // Part of a dispatch during which its use is constant.
  struct Segment {
    double begin, end;
    DeviceUse use;
    double lends;  // device time that is left to lend, in ns
  };
  // What a dispatch gets for a while.
  struct Pace {
    double rate;         // progress per ns: 1 if nothing slows it down
    double borrows;      // device time per ns taken from `lender`
    Segment* lender;
    double until;        // the next time at which another dispatch starts or ends
  };

  Pace pace_at(double time, const DeviceUse& use);
  void note(double begin, double end, const DeviceUse& use, double rate);

  std::deque<Segment> segments_;  // in the order in which they were added
};

}  // namespace rpd
