// Watches the threads of the process, to tell whether anything but the device can still change memory.
#pragma once

#include <cstdint>

namespace rpd::host_threads {

// The calling thread is the device's or ROCr's own: it acts only on behalf of the program's other threads.
void belongs_to_runtime();

// The calling thread waits for the device for as long as this exists, provided that it `counts` (polling without a timeout is
// not waiting).
class Wait {
 public:
  explicit Wait(bool counts);
  ~Wait();
  Wait(const Wait&) = delete;

 private:
  bool counts_;
};
// Whether any thread waits for the device, continuously or repeatedly: HIP waits for a few milliseconds at a time.
bool any_waits();

// Processor time, in ticks, that the program's threads have used, not counting threads that belong to the runtime or wait for
// the device. Grows only while one of the others works.
uint64_t busy_ticks();

}  // namespace rpd::host_threads
