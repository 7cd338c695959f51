// HSA signal handlers during process exit.
//
// ROCr calls a program's handlers on a thread of its own. When a program exits with kernels in flight, these handlers (above
// all HIP's) run while HIP's static objects are being destroyed, which corrupts the heap in about one run out of ten. So exit()
// first waits until the device has nothing left to do and every handler whose signal has completed has run. If that takes too
// long, no further handlers are called.
#pragma once

#include <hsa/hsa.h>

namespace rpd::handlers_at_exit {

void add(const void* handler, hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference);
void remove(const void* handler);

// To be called before and after each handler call. If begin() returns false, the handler must not be called.
bool begin();
void end();
// Whether a handler is running.
bool is_any_running();

// To be called when the runtime shuts down: handlers that have not run by now never will, and their signals will be destroyed.
void forget_all();

// Makes exit() wait as described above before it calls any of the functions registered with atexit so far.
void wait_for_handlers_at_exit();

}  // namespace rpd::handlers_at_exit
