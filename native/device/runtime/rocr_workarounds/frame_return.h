// Returns from a function further up the stack, as unwinding an exception would, but without running any cleanup on the way.
#pragma once

#if defined(__x86_64__)

#include <unwind.h>

#include <cstdint>

namespace rpd {

// The registers to restore when a call returns to this caller.
struct Caller {
  uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

// The caller of the function that this frame belongs to.
Caller caller_at(_Unwind_Context* frame);
// Makes the function that the caller has called return `result`.
[[noreturn]] void return_to(const Caller& caller, int result);
// The function to which a frame belongs.
void* function_of(_Unwind_Context* frame);

}  // namespace rpd

#endif
