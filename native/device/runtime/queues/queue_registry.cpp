#include "runtime/queues/queue_registry.h"

#include "runtime/queues/aql_queue.h"

namespace rpd {

// Called on the thread that called hsa_queue_create, since ROCr creates the hardware queue there.
void QueueRegistry::created(const std::shared_ptr<AqlQueue>& queue) {
  std::lock_guard lock(mutex_);
  last_created_[std::this_thread::get_id()] = queue;
}

std::shared_ptr<AqlQueue> QueueRegistry::take_last_created() {
  std::lock_guard lock(mutex_);
  const auto entry = last_created_.extract(std::this_thread::get_id());
  return entry ? entry.mapped().lock() : nullptr;
}

void QueueRegistry::add(const std::shared_ptr<ProgramQueue>& queue) {
  std::lock_guard lock(mutex_);
  by_doorbell_[queue->queue->doorbell_signal.handle] = queue;
}

void QueueRegistry::remove(const hsa_queue_t* queue) {
  std::lock_guard lock(mutex_);
  std::erase_if(by_doorbell_, [&](const auto& entry) { return entry.second->queue == queue; });
}

std::shared_ptr<ProgramQueue> QueueRegistry::by_doorbell(hsa_signal_t doorbell) const {
  std::lock_guard lock(mutex_);
  auto entry = by_doorbell_.find(doorbell.handle);
  return entry == by_doorbell_.end() ? nullptr : entry->second;
}

std::shared_ptr<ProgramQueue> QueueRegistry::by_hardware(const AqlQueue* queue) const {
  std::lock_guard lock(mutex_);
  for (const auto& [doorbell, program_queue] : by_doorbell_)
    if (program_queue->hardware.lock().get() == queue) return program_queue;
  return nullptr;
}

QueueRegistry& queue_registry() {
  static auto* registry = new QueueRegistry;
  return *registry;
}

}  // namespace rpd
