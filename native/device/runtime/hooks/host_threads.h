// Watches the threads of the process, to tell whether anything but the device can still change memory.
#pragma once

#include <cstdint>

namespace rpd::host_threads {

// Declares that the calling thread belongs to the device or to ROCr, and acts only on behalf of the program's threads.
void mark_as_runtime_thread();

// While this object exists, the calling thread counts as waiting for the device, provided that `counts` is true (a poll, with a
// timeout of 0, is not a wait).
class WaitScope {
 public:
  explicit WaitScope(bool counts);
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;

 private:
  bool counts_;
};
// Whether any thread waits for the device, continuously or repeatedly: HIP waits for a few milliseconds at a time.
bool is_any_waiting();

// Processor time, in ticks, used by the program's threads, except those that belong to the runtime or wait for the device. It
// grows only while one of the other threads works.
uint64_t busy_ticks();

}  // namespace rpd::host_threads
