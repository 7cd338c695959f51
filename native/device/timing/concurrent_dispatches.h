// How dispatches from different queues share the device when they run at the same time.
#pragma once

#include <cstdint>
#include <deque>

#include "exec/device_use.h"

namespace rpd {

// The device's use over virtual time. A new dispatch gets whatever resources the earlier ones leave free. The earlier
// dispatches have already reported their times, so they are not slowed down, and a long one keeps its priority. However, a
// short dispatch does not have to wait for the end of a long one that fills the device, because slots become free as workgroups
// end. To model this, each dispatch lends the share `kLent` of its device time to later ones. As long as any of that time is
// left, a later dispatch gets at least an equal share of the device.
class ConcurrentDispatches {
 public:
  // Adds a dispatch that starts at `start` and takes `alone` ns on an idle device. Returns how long it takes while the others
  // run.
  uint64_t add(uint64_t start, uint64_t alone, const DeviceUse& use);

 private:
  static constexpr double kLent = 0.05;
  static constexpr size_t kKept = 256;

  // A part of a dispatch during which its use of the device is constant.
  struct Segment {
    double begin, end;
    DeviceUse use;
    double lends;  // device time that is left to lend, in ns
  };
  // The conditions under which a dispatch runs up to the time `until`.
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
