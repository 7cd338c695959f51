#include "runtime/virtual_clock.h"

#include <time.h>

#include <algorithm>
#include <atomic>

namespace rpd::virtual_clock {
namespace {

constexpr uint64_t kNotStarted = ~uint64_t{0};

std::atomic<uint64_t> main_thread_time{0};
thread_local uint64_t thread_time = kNotStarted;
thread_local bool is_main_thread = false;
thread_local bool callback_runs = false;

void set(uint64_t time) {
  thread_time = time;
  if (is_main_thread) main_thread_time.store(time, std::memory_order_relaxed);
}

}  // namespace

uint64_t epoch() {
  static const uint64_t start = [] {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }();
  return start;
}

uint64_t now() {
  if (thread_time == kNotStarted) thread_time = main_thread_time.load(std::memory_order_relaxed);
  return thread_time;
}

void advance_to(uint64_t time) { set(std::max(now(), time)); }

void advance_by(uint64_t duration) { set(now() + duration); }

void set_main_thread() { is_main_thread = true; }

CallbackScope::CallbackScope(uint64_t time) : outer_(now()), outer_in_callback_(callback_runs) {
  thread_time = time;
  callback_runs = true;
}

CallbackScope::~CallbackScope() {
  thread_time = outer_;
  callback_runs = outer_in_callback_;
}

bool in_callback() { return callback_runs; }

}  // namespace rpd::virtual_clock
