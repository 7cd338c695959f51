// The driver call with which ROCr sets a trap handler for a gfx90a. The thunk's model does not know the call, and ROCr requires
// it to succeed. The device does what the handler would do, so the call is made to return 0 before the model handles it.
//
// The call is recognised by its call site: the number of the driver call is an operand of an instruction shortly before the
// call to the model's function.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/rocr_workarounds/frame_return.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {

#if defined(__x86_64__)

namespace {

// AMDKFD_IOC_SET_TRAP_HANDLER from the kernel's kfd_ioctl.h: _IOW('K', 0x13, 24 bytes), little-endian.
constexpr std::array<uint8_t, 4> kSetTrapHandler = {0x13, 0x4b, 0x18, 0x40};
constexpr size_t kReach = 64;  // bytes of code searched before the call
constexpr int kCalls = 512;  // the call, if made at all, is among a process's first 512

struct Search {
  void* server;
  bool in_server = false;
  bool found = false;
  Caller caller{};
};

bool passes_on_the_number(_Unwind_Context* frame) {
  const auto* const end = reinterpret_cast<const uint8_t*>(_Unwind_GetIP(frame));
  const auto* const function = static_cast<const uint8_t*>(function_of(frame));
  const uint8_t* const begin = std::max(function, end - kReach);
  return std::search(begin, end, kSetTrapHandler.begin(), kSetTrapHandler.end()) != end;
}

_Unwind_Reason_Code look(_Unwind_Context* frame, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (search.in_server) {
    search.caller = caller_at(frame);
    search.found = function_of(frame) && passes_on_the_number(frame);
    return _URC_END_OF_STACK;
  }
  search.in_server = function_of(frame) == search.server;
  return _URC_NO_REASON;
}

}  // namespace

void serve_trap_handler_call(void* called_from) {
  static std::atomic<int> remaining_calls{kCalls};
  if (remaining_calls <= 0) return;
  --remaining_calls;
  static thread_local Search search;  // not on the stack, which is abandoned
  search = Search{.server = _Unwind_FindEnclosingFunction(called_from)};
  if (search.server) _Unwind_Backtrace(look, &search);
  if (search.found) return_to(search.caller, 0);
}

#else

void serve_trap_handler_call(void*) {}

#endif

}  // namespace rpd
