// Launches whose shape differs from the captured one, as the host would have submitted them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/code_metadata.h"
#include "capture/format.h"

namespace rpd::replay {

// Thrown for a launch shape that no queue accepts.
struct InvalidLaunch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Extent = std::array<uint32_t, 3>;

// Omitted values stay as captured.
struct LaunchConfiguration {
  std::optional<Extent> groups, group_size;  // number of workgroups; work-items in each
  std::optional<uint32_t> dynamic_lds;       // bytes in addition to those that the kernel declares

  bool as_captured() const { return !groups && !group_size && !dynamic_lds; }
  friend bool operator==(const LaunchConfiguration&, const LaunchConfiguration&) = default;
};

// "8", "8,4" or "8,4,2". Throws InvalidLaunch.
Extent extent_from(const std::string& text);

// The most LDS that a workgroup can have on the capture's GPU.
uint32_t max_group_bytes(const capture::Dispatch& dispatch);

uint32_t dynamic_lds_of(const capture::Dispatch& dispatch);

// The dispatch with the packet that this launch would have had. Throws InvalidLaunch.
capture::Dispatch launched(const capture::Dispatch& dispatch, const LaunchConfiguration& launch);

// Bytes among the kernel's arguments that the host derives from the packet.
struct HiddenValue {
  uint32_t offset = 0, bytes = 0;  // at most 8 bytes
  uint64_t value = 0;
};

// Whether hidden_values() knows the value of this hidden argument.
bool is_derived(const capture::KernelArgument& argument);
std::vector<HiddenValue> hidden_values(const capture::Dispatch& dispatch, const capture::KernelMetadata& kernel);

}  // namespace rpd::replay
