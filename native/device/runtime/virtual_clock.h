// Modelled time.
//
// There is a single virtual time axis, in nanoseconds, which starts at 0 when the process starts. Devices compute when each
// packet starts and ends on this axis; every host thread has a clock that gives the virtual time of its next action. Host code
// itself takes no time: submitting work advances a thread's clock by a fixed cost, and waiting advances it to the end of the
// work that the thread waits for. Modelled times therefore depend only on the program, not on how fast this machine runs it.
//
// The timestamps that tools see in signals are virtual time + epoch, where the epoch is CLOCK_BOOTTIME at the start of the
// process.
#pragma once

#include <cstdint>

namespace rpd::virtual_clock {

uint64_t epoch();
inline uint64_t to_timestamp(uint64_t time) { return epoch() + time; }
// Returns 0 for a timestamp that no device wrote: one that is 0 or older than the process.
inline uint64_t from_timestamp(uint64_t timestamp) { return timestamp > epoch() ? timestamp - epoch() : 0; }

// This thread's clock. A new thread's clock starts at the current virtual time of the thread that initialised the runtime; with
// the usual fork and join, that time is well defined.
uint64_t now();
void advance_to(uint64_t time);
void advance_by(uint64_t duration);

// From now on, a new thread's clock starts at the virtual time that the calling thread has reached by then.
void set_main_thread();

// While this object exists, this thread counts as running a callback at virtual time `time`, whatever its own clock says.
class CallbackScope {
 public:
  explicit CallbackScope(uint64_t time);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  uint64_t outer_;
  bool outer_in_callback_;
};
bool in_callback();

}  // namespace rpd::virtual_clock
