#include "replay/gpu.h"

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace rpd::replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kQueuePackets = 64;
constexpr size_t kPacketBytes = 64;

// Memory is restored and read back without going through the caches, so use the widest fences, whatever fences were captured.
constexpr uint32_t kInOrder = 1 << HSA_PACKET_HEADER_BARRIER |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

std::string text_of(hsa_status_t status) {
  const char* text = nullptr;
  hsa_status_string(status, &text);
  return text != nullptr ? text : "error " + std::to_string(status);
}

void check(hsa_status_t status, const char* operation) {
  if (status != HSA_STATUS_SUCCESS) throw std::runtime_error(std::string(operation) + ": " + text_of(status));
}

std::string agent_text(hsa_agent_t agent, int attribute) {
  char text[256] = {};
  hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), text);
  return text;
}

std::atomic<hsa_status_t> queue_error{HSA_STATUS_SUCCESS};

void on_queue_error(hsa_status_t status, hsa_queue_t*, void*) { queue_error.store(status); }

std::atomic<uint64_t> fault_address{0};
std::atomic<bool> faulted{false};

// Replaces ROCr's own reaction to a memory fault, which is to abort the process.
hsa_status_t on_system_event(const hsa_amd_event_t* event, void*) {
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) fault_address.store(event->memory_fault.virtual_address);
  faulted.store(true);
  return HSA_STATUS_SUCCESS;
}

uint64_t ticks(hsa_system_info_t attribute) {
  uint64_t value = 0;
  hsa_system_get_info(attribute, &value);
  return value;
}

}  // namespace

Gpu::Gpu(const std::string& name) : name_(name) {
  check(hsa_init(), "ROCr does not start");
  device_ = find_device();
  hsa_iterate_agents(on_agent, this);
  if (agents_.agent.handle == 0) throw std::runtime_error("there is no " + name + " here");
  hsa_amd_register_system_event_handler(on_system_event, nullptr);
}

hsa_status_t Gpu::on_agent(hsa_agent_t agent, void* data) {
  auto& self = *static_cast<Gpu*>(data);
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_CPU && self.agents_.host.handle == 0) self.agents_.host = agent;
  if (type == HSA_DEVICE_TYPE_GPU && self.agents_.agent.handle == 0 && agent_text(agent, HSA_AGENT_INFO_NAME) == self.name_)
    self.agents_.agent = agent;
  return HSA_STATUS_SUCCESS;
}

Gpu::~Gpu() {
  if (queue_ != nullptr) hsa_queue_destroy(queue_);
  for (const hsa_signal_t signal : {signals_.before, signals_.kernel, signals_.after})
    if (signal.handle != 0) hsa_signal_destroy(signal);
  hsa_shut_down();
}

std::string Gpu::product() const { return agent_text(agents_.agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME); }

void Gpu::set_device_options(const std::string& more) {
  if (device_ == nullptr) throw std::runtime_error("device options were given, but this is not the software device");
  const char* const of_process = std::getenv("ROCM_PERF_DEVICE_OPTIONS");
  const std::string all = (of_process != nullptr ? std::string(of_process) : "") + "," + more;
  if (device_->set_options(all.c_str()) != 0) throw std::runtime_error("the software device rejects the options " + all);
}

void Gpu::open_queue() {
  check(hsa_queue_create(agents_.agent, kQueuePackets, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX,
                         &queue_),
        "no queue");
  hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  for (hsa_signal_t* signal : {&signals_.before, &signals_.kernel, &signals_.after})
    check(hsa_signal_create(1, 0, nullptr, signal), "no signal");
  if (device_ != nullptr) device_->record_dispatches(1);
}

uint64_t Gpu::submit(const void* packet, uint32_t head) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue_, 1);
  char* const slot = static_cast<char*>(queue_->base_address) + index % queue_->size * kPacketBytes;
  std::memcpy(slot + sizeof head, static_cast<const char*>(packet) + sizeof head, kPacketBytes - sizeof head);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), head, __ATOMIC_RELEASE);
  return index;
}

uint64_t Gpu::submit_barrier(hsa_signal_t signal) {
  hsa_signal_silent_store_relaxed(signal, 1);
  hsa_barrier_and_packet_t barrier{};
  barrier.completion_signal = signal;
  return submit(&barrier, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | kInOrder);
}

uint64_t Gpu::submit_kernel(const Packet& packet) {
  hsa_signal_silent_store_relaxed(signals_.kernel, 1);
  hsa_kernel_dispatch_packet_t filled{};
  const capture::Packet& captured = packet.captured;
  filled.setup = captured.setup;
  filled.workgroup_size_x = static_cast<uint16_t>(captured.workgroup[0]);
  filled.workgroup_size_y = static_cast<uint16_t>(captured.workgroup[1]);
  filled.workgroup_size_z = static_cast<uint16_t>(captured.workgroup[2]);
  filled.grid_size_x = captured.grid[0], filled.grid_size_y = captured.grid[1], filled.grid_size_z = captured.grid[2];
  filled.private_segment_size = packet.private_bytes;
  filled.group_segment_size = packet.group_bytes;
  filled.kernel_object = packet.kernel_object;
  filled.kernarg_address = reinterpret_cast<void*>(packet.kernarg_address);
  filled.completion_signal = signals_.kernel;
  return submit(&filled, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | kInOrder | uint32_t{captured.setup} << 16);
}

void Gpu::ring(uint64_t index) { hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index)); }

void Gpu::check_failures() const {
  if (device_ != nullptr && device_->foreign_access() != nullptr) throw std::runtime_error(device_->foreign_access());
  if (faulted.load()) throw std::runtime_error("the kernel faulted at address " + hex(fault_address.load()));
  if (queue_error.load() != HSA_STATUS_SUCCESS) throw std::runtime_error("the kernel failed: " + text_of(queue_error.load()));
}

// On the software device, timeouts are in modelled time, so a wait with a timeout would last as long as the kernel. So until
// the limit is reached, the signal's value is polled instead.
void Gpu::poll_until_complete(hsa_signal_t signal, std::chrono::seconds limit) const {
  const auto began = Clock::now();
  const auto* const value = &reinterpret_cast<const amd_signal_t*>(signal.handle)->value;
  while (__atomic_load_n(value, __ATOMIC_ACQUIRE) > 0) {
    check_failures();
    if (Clock::now() - began > limit)
      throw std::runtime_error("the kernel did not end within " + std::to_string(limit.count()) + " seconds");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Gpu::wait_for(hsa_signal_t signal, std::chrono::seconds limit) {
  if (device_ != nullptr) poll_until_complete(signal, limit);
  const auto began = Clock::now();
  const uint64_t slice = ticks(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY) / 10;
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, slice, HSA_WAIT_STATE_ACTIVE) > 0) {
    check_failures();
    if (Clock::now() - began > limit)
      throw std::runtime_error("the kernel did not end within " + std::to_string(limit.count()) + " seconds");
  }
}

// The times from the device's own record, regardless of what the signals contain.
Times Gpu::recorded(double wait_ms, std::chrono::seconds limit) const {
  rpd_dispatch times{};
  std::vector<double> counters(device_->counter_count);
  const auto began = Clock::now();
  while (device_->take_dispatch(signals_.kernel.handle, &times, counters.data(), nullptr) == 0) {
    check_failures();
    if (Clock::now() - began > limit)
      throw std::runtime_error("the kernel did not end within " + std::to_string(limit.count()) + " seconds");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const auto sum = [&](std::initializer_list<std::string_view> names) {
    double total = 0;
    for (uint32_t i = 0; i < device_->counter_count; ++i)
      if (std::find(names.begin(), names.end(), device_->counters[i].name) != names.end()) total += counters[i];
    return total;
  };
  const DeviceCounts counted{sum({"SQ_INSTS"}), sum({"TCC_EA0_RDREQ_sum", "TCC_EA0_WRREQ_sum"})};
  return {static_cast<double>(times.end_ns - times.start_ns) / 1e6, wait_ms, counted};
}

Timestamps Gpu::timestamps_of(hsa_signal_t signal) const {
  hsa_amd_profiling_dispatch_time_t times{};
  check(hsa_amd_profiling_get_dispatch_time(agents_.agent, signal, &times), "no times of the dispatch");
  return {times.start, times.end};
}

Times Gpu::run(const Packet& packet, std::chrono::seconds limit) {
  if (queue_ == nullptr) open_queue();
  ring(submit_barrier(signals_.before));
  wait_for(signals_.before, limit);
  const Timestamps before = timestamps_of(signals_.before);
  submit_kernel(packet);
  const uint64_t last = submit_barrier(signals_.after);
  const auto began = Clock::now();
  ring(last);
  wait_for(signals_.after, limit);
  const double wait_ms = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
  check_failures();
  if (device_ != nullptr) return recorded(wait_ms, limit);
  const auto frequency = ticks(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY);
  return {kernel_milliseconds(before, timestamps_of(signals_.kernel), timestamps_of(signals_.after), frequency, wait_ms),
          wait_ms,
          {}};
}

std::string runtime_version() {
  uint16_t major = 0, minor = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string rocm_version() {
  const char* root = std::getenv("ROCM_PATH");
  std::ifstream file(std::string(root != nullptr && *root != '\0' ? root : "/opt/rocm") + "/.info/version");
  std::string version;
  std::getline(file, version);
  return version;
}

}  // namespace rpd::replay
