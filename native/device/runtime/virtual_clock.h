// Modelled time.
//
// There is a single virtual time axis, in nanoseconds, which starts at 0 when the process starts. Devices compute when on this
// axis each packet starts and ends; every host thread has a clock that gives the virtual time of its next action. Host code
// itself takes no time: a thread's clock advances when it submits work (by a fixed cost) and when it waits (to the end of the
// work that it waits for). Modelled times therefore depend only on the program, not on how fast this machine runs it.
//
// Tools see timestamps in signals: virtual time + epoch, where the epoch is CLOCK_BOOTTIME at the start of the process.
#pragma once

#include <cstdint>

namespace rpd::virtual_clock {

uint64_t epoch();
inline uint64_t to_timestamp(uint64_t time) { return epoch() + time; }
// 0 for a timestamp that no device wrote (0, or older than the process).
inline uint64_t from_timestamp(uint64_t timestamp) { return timestamp > epoch() ? timestamp - epoch() : 0; }

// This thread's clock. A new thread's clock starts at the current time of the thread that initialised the runtime, which is
// well defined for the usual fork and join.
uint64_t now();
void advance_to(uint64_t time);
void advance_by(uint64_t duration);

// Makes the calling thread the one whose clock gives later threads their start time.
void set_main_thread();

// While this object exists, this thread runs a callback at virtual time `time`, regardless of the thread's own clock.
class Scope {
 public:
  explicit Scope(uint64_t time);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  uint64_t outer_;
  bool outer_in_callback_;
};
bool in_callback();

}  // namespace rpd::virtual_clock
