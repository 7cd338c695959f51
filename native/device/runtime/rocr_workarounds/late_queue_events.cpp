#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

// The mutex of the thunk's model: the mutex that the calling thread had locked last when the model first called the device.
std::atomic<pthread_mutex_t*> model_mutex{nullptr};
thread_local pthread_mutex_t* last_locked = nullptr;

thread_local void* model_locked_at = nullptr;  // where this thread last locked model_mutex

thread_local bool destroys_queue = false;

// The threads that are about to lock model_mutex, in order of arrival.
struct Entrants {
  std::mutex mutex;
  std::condition_variable one_less;
  std::list<uint64_t> numbers;
  uint64_t so_far = 0;
};

// Never destroyed: ROCr's threads outlive this library's destructors.
Entrants& entrants() {
  static auto* const all = new Entrants;
  return *all;
}

// The mutex may be held for as long as the device takes to create or destroy a queue.
constexpr auto kPatience = 5s;

void let_others_enter() {
  Entrants& others = entrants();
  std::unique_lock lock(others.mutex);
  others.one_less.wait_for(lock, kPatience,
                           [&, last = others.so_far] { return others.numbers.empty() || others.numbers.front() > last; });
}

int lock_as_entrant(pthread_mutex_t* mutex) {
  Entrants& all = entrants();
  std::unique_lock lock(all.mutex);
  const auto number = all.numbers.insert(all.numbers.end(), ++all.so_far);
  lock.unlock();
  const int result = pthread_mutex_lock(mutex);
  lock.lock();
  all.numbers.erase(number);
  all.one_less.notify_all();
  return result;
}

int polite_lock(pthread_mutex_t* mutex) {
  if (!is_model_mutex(mutex)) {
    last_locked = mutex;
    return pthread_mutex_lock(mutex);
  }
  serve_trap_handler_call(__builtin_return_address(0));
  model_locked_at = __builtin_return_address(0);
  if (!destroys_queue) return lock_as_entrant(mutex);
  let_others_enter();
  return pthread_mutex_lock(mutex);
}

}  // namespace

void avoid_late_queue_events() {
  static const bool replaced =
      replace_plt_slot("libhsa-runtime64.so", "pthread_mutex_lock", reinterpret_cast<void*>(polite_lock)) != nullptr;
  if (!replaced) log_line("a program may abort when it destroys its last queue");
}

void learn_model_mutex() {
  pthread_mutex_t* unknown = nullptr;
  if (last_locked) model_mutex.compare_exchange_strong(unknown, last_locked);
}

bool is_model_mutex(const pthread_mutex_t* mutex) { return mutex == model_mutex.load(std::memory_order_relaxed); }

void* model_call_in_progress() {
  pthread_mutex_t* const mutex = model_mutex.load(std::memory_order_relaxed);
  const bool holds = mutex && mutex->__data.__owner == gettid();
  return holds && model_locked_at ? _Unwind_FindEnclosingFunction(model_locked_at) : nullptr;
}

void leave_model() { pthread_mutex_unlock(model_mutex.load(std::memory_order_relaxed)); }

QueueDestruction::QueueDestruction() { destroys_queue = true; }
QueueDestruction::~QueueDestruction() { destroys_queue = false; }

}  // namespace rpd
