#include <pthread.h>

#include <ctime>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

constexpr long kMaxWait = 50'000'000;  // ns
constexpr long kSecond = 1'000'000'000;

bool is_earlier(const timespec& first, const timespec& second) {
  return first.tv_sec != second.tv_sec ? first.tv_sec < second.tv_sec : first.tv_nsec < second.tv_nsec;
}

// The model's condition variable uses the monotonic clock.
int short_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* end) {
  timespec soon{};
  if (!is_model_mutex(mutex) || clock_gettime(CLOCK_MONOTONIC, &soon) != 0)
    return pthread_cond_timedwait(condition, mutex, end);
  soon.tv_nsec += kMaxWait;
  if (soon.tv_nsec >= kSecond) {
    soon.tv_nsec -= kSecond;
    ++soon.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, is_earlier(soon, *end) ? &soon : end);
}

}  // namespace

void avoid_endless_waits() {
  static const bool replaced =
      replace_plt_slot("libhsa-runtime64.so", "pthread_cond_timedwait", reinterpret_cast<void*>(short_timedwait)) != nullptr;
  if (!replaced) log_line("a program may hang when it destroys a queue");
}

}  // namespace rpd
