// The thunk's model ends the process when it receives a driver call that it does not know. This makes such a call fail instead,
// as on a machine whose driver does not know it, and ROCr informs the program.
//
// The model ends the process by calling abort(). In libhsa-runtime64, calls to abort() are redirected to a replacement, which
// therefore runs inside the unfinished driver call. The thread still holds the model's mutex, which it locked in the function
// that serves driver calls. The replacement unlocks the mutex and makes that function return -1, much as unwinding an exception
// would.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "runtime/reports/kernel_names.h"
#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/frame_return.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

#if defined(__x86_64__)

struct Search {
  void* server;  // start of the function that serves driver calls
  bool in_server = false;
  bool found = false;
  Caller caller{};
  std::string wanted_by;
};

// The name of the ROCr interface function to which a frame belongs; empty if it belongs to none.
std::string interface_function(_Unwind_Context* frame) {
  Dl_info info{};
  void* const begin = function_of(frame);
  const bool known = begin && dladdr(begin, &info) != 0 && info.dli_sname && info.dli_saddr == begin;
  return known ? demangled_name(info.dli_sname) : "";
}

_Unwind_Reason_Code look(_Unwind_Context* frame, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (search.in_server && !search.found) {
    search.caller = caller_at(frame);
    search.found = true;
  }
  if (!search.in_server) {
    search.in_server = function_of(frame) == search.server;
  } else if (search.wanted_by.empty()) {
    search.wanted_by = interface_function(frame);
  }
  return _URC_NO_REASON;
}

[[noreturn]] void fail_call(void* server) {
  static thread_local Search search;  // not on the stack, which is abandoned
  search = Search{.server = server};
  _Unwind_Backtrace(look, &search);
  if (!search.found) std::abort();
  report_error("the device has no such driver call%s%s: the call fails", search.wanted_by.empty() ? "" : ", wanted by ",
               search.wanted_by.c_str());
  leave_model();
  errno = ENOTTY;
  return_to(search.caller, -1);
}

[[noreturn]] void failing_abort() {
  if (void* const server = model_call_in_progress()) fail_call(server);
  std::abort();
}

void* replacement() { return reinterpret_cast<void*>(failing_abort); }

#else

void* replacement() { return reinterpret_cast<void*>(std::abort); }

#endif

}  // namespace

void survive_unknown_calls() {
  static const bool replaced = replace_plt_slot("libhsa-runtime64.so", "abort", replacement()) != nullptr;
  if (!replaced) log_line("a driver call that the model does not know ends the program");
}

}  // namespace rpd
