#include "runtime/hooks/handlers_at_exit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/device.h"
#include "runtime/queues/signals.h"
#include "runtime/virtual_clock.h"

namespace rpd::handlers_at_exit {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 5s;

struct Pending {
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t reference;
  bool is_due() const {
    const auto& state = *reinterpret_cast<const amd_signal_t*>(signal.handle);
    return condition_holds(condition, load_value(state), reference);
  }
};

std::mutex mutex;
std::map<const void*, Pending>& pending() {
  static auto* map = new std::map<const void*, Pending>;  // event threads outlive static destructors
  return *map;
}
std::atomic<int> running{0};
std::atomic<bool> closed{false};
pid_t owner = 0;  // a forked child must not wait: it has none of the threads that finish the work

bool any_due() {
  const std::lock_guard lock(mutex);
  return std::any_of(pending().begin(), pending().end(), [](const auto& entry) { return entry.second.is_due(); });
}

bool settled() {
  if (any_device_can_make_progress()) return false;
  return !any_due() && running.load() == 0;
}

void wait_for_handlers() {
  // A handler that calls exit() would otherwise wait for itself.
  if (getpid() != owner || virtual_clock::in_callback() || closed.load()) return;
  const auto deadline = Clock::now() + kPatience;
  while (!settled() && Clock::now() < deadline) std::this_thread::sleep_for(200us);
  if (settled()) return;
  closed = true;
  while (running.load() > 0 && Clock::now() < deadline + kPatience) std::this_thread::sleep_for(200us);
}

}  // namespace

void add(const void* handler, hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t reference) {
  const std::lock_guard lock(mutex);
  pending()[handler] = {signal, condition, reference};
}

void remove(const void* handler) {
  const std::lock_guard lock(mutex);
  pending().erase(handler);
}

void forget_all() {
  const std::lock_guard lock(mutex);
  pending().clear();
}

bool begin() {
  ++running;
  if (!closed.load()) return true;
  --running;
  return false;
}

void end() { --running; }

bool is_any_running() { return running.load() > 0; }

void wait_for_handlers_at_exit() {
  owner = getpid();
  std::atexit(wait_for_handlers);
}

}  // namespace rpd::handlers_at_exit
