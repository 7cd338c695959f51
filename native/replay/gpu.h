// The agent on which dispatches are replayed, with one queue.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "capture/format.h"
#include "common/software_device_api.h"
#include "replay/dispatch_times.h"
#include "replay/exact_memory.h"

namespace rpd::replay {

// What the software device counted for a dispatch.
struct DeviceCounts {
  double instructions = 0;         // of all waves
  double requests_beyond_l2 = 0;   // reads and writes, of at least 32 bytes each
};

struct Times {
  double gpu_ms = 0;   // from the GPU's timestamps (see dispatch_times.h), or from the software device's own record
  double wait_ms = 0;  // on the host's clock, from ringing the doorbell to seeing the packet after the kernel complete
  std::optional<DeviceCounts> counted{};  // empty on hardware
};

struct Packet {
  capture::Packet captured;
  uint64_t kernel_object = 0, kernarg_address = 0;
  uint32_t private_bytes = 0, group_bytes = 0;
};

class Gpu {
 public:
  // Calls hsa_init and selects the first agent with this name ("gfx942"). Throws std::runtime_error.
  explicit Gpu(const std::string& name);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  const Agents& agents() const { return agents_; }
  const std::string& agent_name() const { return name_; }
  std::string product() const;

  // From now on, uses these options of the software device in addition to the process's own; the device restarts. Throws
  // std::runtime_error.
  void set_device_options(const std::string& more);

  // Dispatches the kernel between two barrier packets and waits. Throws std::runtime_error if the kernel fails or does not end
  // within the limit, or if its times contradict each other.
  Times run(const Packet& packet, std::chrono::seconds limit);

 private:
  static hsa_status_t on_agent(hsa_agent_t agent, void* self);
  void open_queue();
  // Puts a 64-byte packet into the ring, with `head` as its first four bytes; returns the packet's index.
  uint64_t submit(const void* packet, uint32_t head);
  uint64_t submit_barrier(hsa_signal_t signal);
  uint64_t submit_kernel(const Packet& packet);
  void ring(uint64_t index);
  void check_failures() const;
  void poll_until_complete(hsa_signal_t signal, std::chrono::seconds limit) const;
  void wait_for(hsa_signal_t signal, std::chrono::seconds limit);
  Times recorded(double wait_ms, std::chrono::seconds limit) const;
  Timestamps timestamps_of(hsa_signal_t signal) const;

  struct Signals {
    hsa_signal_t before{}, kernel{}, after{};
  };
  std::string name_;
  Agents agents_;
  hsa_queue_t* queue_ = nullptr;
  Signals signals_;
  const rpd_api* device_ = nullptr;  // the software device; null on hardware
};

// ROCr's version: "1.18".
std::string runtime_version();
// The version recorded by ROCm's packages; empty if ROCm was not installed from packages.
std::string rocm_version();

}  // namespace rpd::replay
