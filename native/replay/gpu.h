// The agent that replays, and one queue on it.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "capture/format.h"
#include "replay/exact_memory.h"

namespace rpd::replay {

struct Times {
  double gpu_ms = 0;   // by the GPU's timestamps, or the device's model
  double wait_ms = 0;  // from ringing the doorbell to seeing the signal, on the host's clock
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

  // Dispatches and waits. Throws std::runtime_error if the kernel fails or does not end within the limit.
  Times run(const Packet& packet, std::chrono::seconds limit);

 private:
  static hsa_status_t on_agent(hsa_agent_t agent, void* self);
  void open_queue();

  std::string name_;
  Target target_;
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t signal_{};
};

// "1.18"; of ROCr.
std::string runtime_version();
// As ROCm's packages note it; empty where ROCm is not installed so.
std::string rocm_version();

}  // namespace rpd::replay
