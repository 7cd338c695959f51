#include "replay/gpu.h"

#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace rpd::replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kQueuePackets = 64;

std::string text_of(hsa_status_t status) {
  const char* text = nullptr;
  hsa_status_string(status, &text);
  return text != nullptr ? text : "error " + std::to_string(status);
}

void check(hsa_status_t status, const char* what) {
  if (status != HSA_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + text_of(status));
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

// Instead of ROCr's own answer to a memory fault, which is to abort.
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
  hsa_iterate_agents(on_agent, this);
  if (target_.agent.handle == 0) throw std::runtime_error("there is no " + name + " here");
  hsa_amd_register_system_event_handler(on_system_event, nullptr);
}

hsa_status_t Gpu::on_agent(hsa_agent_t agent, void* data) {
  auto& self = *static_cast<Gpu*>(data);
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_CPU && self.target_.host.handle == 0) self.target_.host = agent;
  if (type == HSA_DEVICE_TYPE_GPU && self.target_.agent.handle == 0 && agent_text(agent, HSA_AGENT_INFO_NAME) == self.name_)
    self.target_.agent = agent;
  return HSA_STATUS_SUCCESS;
}

Gpu::~Gpu() {
  if (queue_ != nullptr) hsa_queue_destroy(queue_);
  if (signal_.handle != 0) hsa_signal_destroy(signal_);
  hsa_shut_down();
}

std::string Gpu::product() const { return agent_text(target_.agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME); }

void Gpu::open_queue() {
  check(hsa_queue_create(target_.agent, kQueuePackets, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &queue_),
        "no queue");
  hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  check(hsa_signal_create(1, 0, nullptr, &signal_), "no signal");
}

Times Gpu::run(const Packet& packet, std::chrono::seconds limit) {
  if (queue_ == nullptr) open_queue();
  hsa_signal_silent_store_relaxed(signal_, 1);
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue_, 1);
  auto* const slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
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
  filled.completion_signal = signal_;
  // Memory was restored behind the caches' back, and will be read so: the widest fences, whatever was captured.
  const uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr size_t kAfterHeader = sizeof(uint32_t);
  std::memcpy(reinterpret_cast<char*>(slot) + kAfterHeader, reinterpret_cast<const char*>(&filled) + kAfterHeader, sizeof filled - kAfterHeader);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), header | uint32_t{captured.setup} << 16, __ATOMIC_RELEASE);

  const auto began = Clock::now();
  hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  const uint64_t slice = ticks(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY) / 10;
  while (hsa_signal_wait_scacquire(signal_, HSA_SIGNAL_CONDITION_LT, 1, slice, HSA_WAIT_STATE_ACTIVE) > 0) {
    if (faulted.load()) throw std::runtime_error("the kernel faulted at address " + hex(fault_address.load()));
    if (queue_error.load() != HSA_STATUS_SUCCESS) throw std::runtime_error("the kernel failed: " + text_of(queue_error.load()));
    if (Clock::now() - began > limit)
      throw std::runtime_error("the kernel did not end within " + std::to_string(limit.count()) + " seconds");
  }
  const auto ended = Clock::now();
  if (faulted.load()) throw std::runtime_error("the kernel faulted at address " + hex(fault_address.load()));
  if (queue_error.load() != HSA_STATUS_SUCCESS) throw std::runtime_error("the kernel failed: " + text_of(queue_error.load()));
  hsa_amd_profiling_dispatch_time_t times{};
  check(hsa_amd_profiling_get_dispatch_time(target_.agent, signal_, &times), "no times of the dispatch");
  const double frequency = static_cast<double>(ticks(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY));
  return {static_cast<double>(times.end - times.start) * 1e3 / frequency,
          std::chrono::duration<double, std::milli>(ended - began).count()};
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
