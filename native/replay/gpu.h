// The agent that replays, and one queue on it.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "capture/format.h"
#include "common/device.h"
#include "replay/dispatch_times.h"
#include "replay/exact_memory.h"

namespace rpd::replay {

// What the software device counted of a dispatch.
struct Counted {
  double instructions = 0;         // of all waves
  double requests_beyond_l2 = 0;   // reads and writes, of 32 bytes at least
};

struct Times {
  double gpu_ms = 0;   // by the GPU's timestamps (see dispatch_times.h), or the software device's own record
  double wait_ms = 0;  // from ringing the doorbell to seeing the packet behind the kernel's complete, on the host's clock
  std::optional<Counted> counted{};  // not on hardware
};

struct Packet {
  capture::Packet captured;
  uint64_t kernel_object = 0, kernarg_address = 0;
  uint32_t private_bytes = 0, group_bytes = 0;
};

class Gpu {
 public:
  // hsa_init, and the first agent with this name ("gfx942"). Throws std::runtime_error.
  explicit Gpu(const std::string& name);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  const Target& target() const { return target_; }
  const std::string& agent_name() const { return name_; }
  std::string product() const;

  // Options of the software device beside those of the process, from now on; it begins anew. Throws std::runtime_error.
  void set_device_options(const std::string& more);

  // Dispatches between two barrier packets and waits. Throws std::runtime_error if the kernel fails, does not end within
  // the limit, or contradicts its times.
  Times run(const Packet& packet, std::chrono::seconds limit);

 private:
  static hsa_status_t on_agent(hsa_agent_t agent, void* self);
  void open_queue();
  // Puts 64 bytes into the ring, `head` instead of their first four; returns the packet's index.
  uint64_t submit(const void* packet, uint32_t head);
  uint64_t submit_barrier(hsa_signal_t signal);
  uint64_t submit_kernel(const Packet& packet);
  void ring(uint64_t index);
  void check_failures() const;
  void look_at(hsa_signal_t signal, std::chrono::seconds limit) const;
  void wait_for(hsa_signal_t signal, std::chrono::seconds limit);
  Times recorded(double wait_ms, std::chrono::seconds limit) const;
  Stamps stamps_of(hsa_signal_t signal) const;

  struct Signals {
    hsa_signal_t before{}, kernel{}, after{};
  };
  std::string name_;
  Target target_;
  hsa_queue_t* queue_ = nullptr;
  Signals signals_;
  const rpd_api* device_ = nullptr;  // the software device, if it is one
};

// "1.18"; of ROCr.
std::string runtime_version();
// As ROCm's packages note it; empty where ROCm is not installed so.
std::string rocm_version();

}  // namespace rpd::replay
