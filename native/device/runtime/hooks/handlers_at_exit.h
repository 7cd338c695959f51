// Handlers of signals, while the process exits.
//
// ROCr calls a program's handlers on a thread of its own. A program that exits with kernels in flight makes those
// handlers (HIP's, above all) run while HIP's static objects are being destroyed, and corrupts its heap about every
// tenth time. So before those destructors: wait, for a bounded time, until the device has nothing left to do and every
// handler whose signal has completed has run; what completes later is no longer told to handlers.
#pragma once

#include <hsa/hsa.h>

namespace rpd::handlers_at_exit {

void add(const void* handler, hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference);
void remove(const void* handler);

// Around each call of a handler. If begin() is false the handler must not be called.
bool begin();
void end();
// Whether a handler is being called.
bool any_runs();

// The runtime shuts down: handlers that have not run by now never will, and their signals go.
void forget_all();

// From now on exit() waits as described, before everything that was registered with atexit up to now.
void settle_at_exit();

}  // namespace rpd::handlers_at_exit
