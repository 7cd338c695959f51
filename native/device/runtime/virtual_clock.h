// Modelled time.
//
// There is one virtual time axis, in nanoseconds, that starts at 0 with the process. Devices compute when each
// packet starts and ends on it; every host thread has a clock on it that says when the thread does what it does
// next. Host code itself takes no time: a thread's clock advances by what it submits (a fixed cost) and by what
// it waits for (to the end of that). Therefore modelled times depend on the program alone, not on how fast this
// machine runs it.
//
// What tools see in signals are timestamps: virtual time + epoch, the epoch being CLOCK_BOOTTIME at start.
#pragma once

#include <cstdint>

namespace rpd::virtual_clock {

uint64_t epoch();
inline uint64_t to_timestamp(uint64_t time) { return epoch() + time; }
// 0 for a timestamp that no device wrote (0, or older than the process).
inline uint64_t from_timestamp(uint64_t timestamp) { return timestamp > epoch() ? timestamp - epoch() : 0; }

// This thread's clock. A thread that appears later starts where the thread that initialised the runtime is,
// which is well defined for the usual fork and join.
uint64_t now();
void advance_to(uint64_t time);
void advance_by(uint64_t duration);

// The calling thread is the one that later threads start from.
void set_main_thread();

// Runs a callback on this thread at `time`, whatever was called on it before.
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
