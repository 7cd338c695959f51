#include "runtime/rocr_workarounds/frame_return.h"

#if defined(__x86_64__)

namespace rpd {

Caller caller_at(_Unwind_Context* frame) {
  constexpr int kRbx = 3, kRbp = 6, kR12 = 12;  // DWARF register numbers
  return {_Unwind_GetGR(frame, kRbx),     _Unwind_GetGR(frame, kRbp),
          _Unwind_GetGR(frame, kR12),     _Unwind_GetGR(frame, kR12 + 1),
          _Unwind_GetGR(frame, kR12 + 2), _Unwind_GetGR(frame, kR12 + 3),
          _Unwind_GetCFA(frame),          _Unwind_GetIP(frame)};
}

void return_to(const Caller& caller, int result) {
  asm volatile(
      "movq 0(%0), %%rbx\n\t"
      "movq 8(%0), %%rbp\n\t"
      "movq 16(%0), %%r12\n\t"
      "movq 24(%0), %%r13\n\t"
      "movq 32(%0), %%r14\n\t"
      "movq 40(%0), %%r15\n\t"
      "movq 48(%0), %%rsp\n\t"
      "jmpq *56(%0)"
      :
      : "D"(&caller), "a"(result)
      : "memory");
  __builtin_unreachable();
}

void* function_of(_Unwind_Context* frame) {
  return _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(_Unwind_GetIP(frame) - 1));
}

}  // namespace rpd

#endif
