// Signal handlers during process exit.
//
// ROCr calls a program's handlers on a thread of its own. When a program exits with kernels in flight, these handlers
// (above all HIP's) run while HIP's static objects are being destroyed, which corrupts the heap about every tenth time. So
// exit() first waits, for a bounded time, until the device has nothing left to do and every handler whose signal has
// completed has run; handlers are not called for anything that completes later.
#pragma once

#include <hsa/hsa.h>

namespace rpd::handlers_at_exit {

void add(const void* handler, hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference);
void remove(const void* handler);

// To be called before and after each call of a handler. If begin() returns false, the handler must not be called.
bool begin();
void end();
// Whether a handler is being called.
bool any_runs();

// The runtime is shutting down: handlers that have not run by now never will, and their signals are going away.
void forget_all();

// From now on exit() waits as described above, before it calls anything registered with atexit up to now.
void settle_at_exit();

}  // namespace rpd::handlers_at_exit
