#include "runtime/device.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "exec/null_observer.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/options.h"
#include "runtime/queues/aql_queue.h"
#include "runtime/queues/event_count.h"
#include "runtime/queues/queue_registry.h"
#include "runtime/queues/sdma_queue.h"
#include "runtime/queues/signals.h"
#include "runtime/reports/log.h"
#include "runtime/topology.h"
#include "runtime/virtual_clock.h"
#include "timing/device_timing.h"
#include "timing/parameters.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

struct DeviceList {
  std::mutex mutex;
  std::vector<Device*> devices;
};

DeviceList& device_list() {
  static auto* list = new DeviceList;
  return *list;
}

// The value of ROCM_PERF_DEVICE_THREADS if it is set and valid; otherwise the number of cores.
unsigned host_threads() {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const char* text = std::getenv("ROCM_PERF_DEVICE_THREADS");
  if (!text || !*text) return cores;
  char* end = nullptr;
  const long threads = std::strtol(text, &end, 10);
  if (*end == '\0' && threads >= 1 && threads <= 1024) return static_cast<unsigned>(threads);
  report_error("ROCM_PERF_DEVICE_THREADS=%s is not a number from 1 to 1024; using all %u cores", text, cores);
  return cores;
}

}  // namespace

// The thunk creates the devices in the order of their nodes.
Device::Device()
    : allocations_(static_cast<Owner>(devices().size())),
      engine_((choose_target(topology_gpu_version()), new_engine(engine_options()))) {
  if (number() >= kMaxDevices)
    throw std::runtime_error("a process can have at most " + std::to_string(kMaxDevices) + " software devices");
  virtual_clock::epoch();
  dispatches_in_flight();
  std::lock_guard lock(device_list().mutex);
  device_list().devices.push_back(this);
}

Device::~Device() {
  wakeups_.close();
  std::lock_guard lock(device_list().mutex);
  std::erase(device_list().devices, this);
}

uint32_t Device::node() const { return topology_gpu_node(static_cast<uint32_t>(number())); }

std::unique_ptr<Engine> Device::new_engine(const EngineOptions& options) {
  set_timing_parameters(options.timing_parameters);
  auto observer =
      options.observe
          ? device_timing(
                {.timed_cu = options.timed_cu, .flush_l2 = options.flush_l2, .sampled_beyond = options.sampled_beyond})
          : null_observer(kUnobservedDispatchNs);
  return std::make_unique<Engine>(memory_, std::move(observer), host_threads(), options, &writable_memory());
}

void Device::set_aperture(void* base, uint64_t size) { memory_.set_aperture(static_cast<char*>(base), size); }

// Called before the thunk maps the memory that it has allocated.
void Device::extend_device_range(uint64_t address, uint64_t size) {
  if (memory_.is_device(address) && memory_.is_device(address + size - 1)) return;
  memory_.extend_device_range(address, size);
  const AccessWindow reserved = allocations_.reservation(address);
  const uint64_t end = std::min(reserved.begin + reserved.size, memory_.aperture_size());
  if (reserved.begin < end) memory_.extend_device_range(reserved.begin, end - reserved.begin);
  log_line("device addresses from 0x%lx to 0x%lx", reserved.begin, end);
}

void Device::memory_allocated(uint64_t address, uint64_t size, Owner owner, bool granted) {
  extend_device_range(address, size);
  allocations_.add(address, size, owner, granted);
}

void Device::memory_freed(uint64_t address, uint64_t size) {
  allocations_.remove(address);
  // Decoded code is not dropped here: this thread holds one of the thunk's locks and must not wait for a running kernel.
  std::lock_guard lock(stale_mutex_);
  stale_code_.emplace_back(address, size);
}

void Device::copied_to(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(stale_mutex_);
  copied_to_.emplace_back(address, bytes);
}

std::string Device::run_commands(const Pm4IbPacket& packet, QueueRegisters& queue) {
  Pm4Commands::Outcome outcome = pm4_commands_.run(packet, queue);
  std::lock_guard lock(stale_mutex_);
  if (outcome.drops_code) stale_code_.assign(1, {0, ~uint64_t{0}});
  if (outcome.invalidates_l2) stale_l2_ = true;
  return std::move(outcome.error);
}

Queue* Device::create_queue(const model::QueueInfo& info) {
  std::shared_ptr<Queue> queue;
  if (info.queue_type == model::kSdmaQueue) queue = std::make_shared<SdmaQueue>(*this, info);
  else queue = std::make_shared<AqlQueue>(*this, info);
  log_line("queue at 0x%lx created: %s, %u bytes", info.ring_base_address,
           info.queue_type == model::kSdmaQueue ? "SDMA" : "AQL", info.ring_size);
  if (auto aql = std::dynamic_pointer_cast<AqlQueue>(queue)) queue_registry().created(aql);
  {
    std::lock_guard lock(queues_mutex_);
    queues_.push_back(queue);
  }
  queue->start();
  return queue.get();
}

void Device::destroy_queue(Queue* queue) {
  std::shared_ptr<Queue> owned;
  {
    std::lock_guard lock(queues_mutex_);
    auto entry = std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q.get() == queue; });
    if (entry == queues_.end()) return;
    owned = std::move(*entry);
    queues_.erase(entry);
  }
  if (!owned->stop(5s)) report_error("queue at 0x%lx destroyed while a kernel runs on it", owned->ring_address());
}

bool Device::stop_queues(std::chrono::milliseconds patience) {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    std::lock_guard lock(queues_mutex_);
    queues.swap(queues_);
  }
  bool all_stopped = true;
  for (auto& queue : queues) all_stopped &= queue->stop(patience);
  return all_stopped;
}

void Device::wake_queues() {
  std::lock_guard lock(queues_mutex_);
  for (auto& queue : queues_) queue->wake();
}

bool Device::can_make_progress() {
  std::lock_guard lock(queues_mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue->can_make_progress(); });
}

bool Device::is_about_to_serve(uint64_t time) {
  std::lock_guard lock(queues_mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) { return queue->is_about_to_serve(time); });
}

void Device::complete(uint64_t signal_address, uint64_t start, uint64_t end) {
  if (signal_address == 0) return;
  auto* signal = memory_.at<amd_signal_t>(signal_address);
  set_times(*signal, start, end);
  // Whoever sees the new value may destroy the signal, so read everything else first.
  const uint64_t mailbox = signal->event_mailbox_ptr;
  const uint32_t event = signal->event_id;
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
  if (mailbox) *memory_.at<volatile uint64_t>(mailbox) = event;
  signal_changes().announce();
  wakeups_.raise(event);
}

std::vector<Device*> devices() {
  std::lock_guard lock(device_list().mutex);
  return device_list().devices;
}

Device* device_of_node(uint32_t node) {
  for (Device* device : devices())
    if (device->node() == node) return device;
  return nullptr;
}

bool any_device_can_make_progress() {
  const auto list = devices();
  return std::any_of(list.begin(), list.end(), [](Device* device) { return device->can_make_progress(); });
}

}  // namespace rpd
