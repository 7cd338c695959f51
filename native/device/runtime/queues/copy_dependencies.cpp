#include "runtime/queues/copy_dependencies.h"

#include <algorithm>

#include "runtime/queues/signals.h"

namespace rpd {
namespace {

// Signals are in host memory, and a handle is the signal's host address.
const amd_signal_t& on_host(hsa_signal_t signal) { return *reinterpret_cast<const amd_signal_t*>(signal.handle); }

}  // namespace

void CopyDependencies::submitted(hsa_signal_t completion, uint64_t submit_time, uint32_t count,
                                 const hsa_signal_t* dependencies) {
  if (completion.handle == 0) return;
  Order order{submit_time, {}};
  for (uint32_t i = 0; i < count; ++i) {
    if (dependencies[i].handle == 0) continue;
    if (load_value(on_host(dependencies[i])) == 0)
      order.ready_time = std::max(order.ready_time, completion_time(on_host(dependencies[i])));
    else order.pending.push_back(dependencies[i]);
  }
  std::lock_guard lock(mutex_);
  orders_[completion.handle] = std::move(order);
}

void CopyDependencies::withdraw(hsa_signal_t completion) {
  std::lock_guard lock(mutex_);
  orders_.erase(completion.handle);
}

uint64_t CopyDependencies::take_ready_time(hsa_signal_t completion) {
  std::unique_lock lock(mutex_);
  auto entry = orders_.find(completion.handle);
  if (entry == orders_.end()) return 0;
  const Order order = std::move(entry->second);
  orders_.erase(entry);
  lock.unlock();
  uint64_t time = order.ready_time;
  for (const hsa_signal_t signal : order.pending) time = std::max(time, completion_time(on_host(signal)));
  return time;
}

CopyDependencies& copy_dependencies() {
  static auto* dependencies = new CopyDependencies;
  return *dependencies;
}

}  // namespace rpd
