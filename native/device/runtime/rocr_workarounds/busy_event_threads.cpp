#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/hooks/host_threads.h"
#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Whenever the thunk waits for several events, it first allocates structs of this size (kfd_event_data).
constexpr size_t kEventDataBytes = 48;

// A thread that waits this many times within this time is not really waiting for anything.
constexpr int kManyWaits = 50;
constexpr auto kShortTime = 5ms;
constexpr auto kPause = 1ms;

void pause_if_busy() {
  thread_local int waits = 0;
  thread_local Clock::time_point since = Clock::now();
  if (++waits < kManyWaits) return;
  const auto now = Clock::now();
  const bool busy = now - since < kShortTime;
  if (busy) std::this_thread::sleep_for(kPause);
  // As long as the thread stays busy, it also pauses at each further wait.
  waits = busy ? kManyWaits - 1 : 0;
  since = Clock::now();
}

void* pausing_calloc(size_t count, size_t size) {
  if (size == kEventDataBytes) {
    host_threads::mark_as_runtime_thread();
    pause_if_busy();
  }
  return std::calloc(count, size);
}

}  // namespace

void avoid_busy_event_threads() {
  static const bool replaced =
      replace_plt_slot("libhsa-runtime64.so", "calloc", reinterpret_cast<void*>(pausing_calloc)) != nullptr;
  if (!replaced) log_line("ROCr's event threads may keep a core busy");
}

}  // namespace rpd
