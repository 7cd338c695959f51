// What the threads of the process are doing: whether anything but the device can still change memory.
#pragma once

#include <cstdint>

namespace rpd::host_threads {

// The calling thread is the device's or ROCr's own: what it does comes from the program's other threads.
void belongs_to_runtime();

// The calling thread waits for the device, for as long as this exists (if it `counts`: a look without a timeout is no wait).
class Wait {
 public:
  explicit Wait(bool counts);
  ~Wait();
  Wait(const Wait&) = delete;

 private:
  bool counts_;
};
// Whether a thread does, or does again and again: HIP waits for a few milliseconds at a time.
bool any_waits();

// Processor time, in ticks, that the program's threads have used, without those above; grows only while one of them works.
uint64_t busy_ticks();

}  // namespace rpd::host_threads
