// The thunk's model stores the page of a GPU's registers, although it never uses it, and asserts that it receives only one
// page. With several GPUs it receives one page for each. This makes the failed assertion return from the enclosing function.
#include <cstdlib>
#include <cstring>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/frame_return.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {

#if defined(__x86_64__)

namespace {

constexpr char kFunction[] = "model_set_mmio_page";

using AssertionFailure = void (*)(const char* assertion, const char* file, unsigned line, const char* function);
AssertionFailure end_program = nullptr;  // the C library's own function

struct Search {
  void* function;
  bool inside = false;
  bool found = false;
  Caller caller{};
};

_Unwind_Reason_Code look(_Unwind_Context* frame, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (search.inside) {
    search.caller = caller_at(frame);
    search.found = true;
    return _URC_END_OF_STACK;
  }
  search.inside = function_of(frame) == search.function;
  return _URC_NO_REASON;
}

[[noreturn]] void failed_assertion(const char* assertion, const char* file, unsigned line, const char* function) {
  static Search search;  // not on the stack, which is abandoned; static is safe because GPUs are opened one after the other
  search = Search{.function = _Unwind_FindEnclosingFunction(static_cast<char*>(__builtin_return_address(0)) - 1)};
  if (std::strcmp(function, kFunction) == 0) _Unwind_Backtrace(look, &search);
  if (search.found) return_to(search.caller, 0);
  end_program(assertion, file, line, function);
  std::abort();
}

}  // namespace

void allow_several_gpus() {
  if (end_program) return;
  void* const before = replace_plt_slot("libhsa-runtime64.so", "__assert_fail", reinterpret_cast<void*>(failed_assertion));
  end_program = reinterpret_cast<AssertionFailure>(before);
  if (!before) log_line("several GPUs may end the program");
}

#else

void allow_several_gpus() {}

#endif

}  // namespace rpd
