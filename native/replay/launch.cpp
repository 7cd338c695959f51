#include "replay/launch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rpd::replay {
namespace {

constexpr uint64_t kMaxItems = 1024;              // the limit for a workgroup, on all supported families
constexpr uint64_t kMaxGridItems = 0xffff'ffff;      // work-items in one dimension: the packet's fields have 32 bits
constexpr uint16_t kDimensions = 3;                // bits of the packet's setup that hold the number of dimensions

uint64_t product(const Extent& extent) { return uint64_t{extent[0]} * extent[1] * extent[2]; }

std::string in_words(const Extent& extent) {
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]);
}

Extent groups_of(const capture::Packet& packet) {
  Extent groups{};
  for (size_t i = 0; i < 3; ++i) groups[i] = (packet.grid[i] + packet.workgroup[i] - 1) / packet.workgroup[i];
  return groups;
}

void check_group(const Extent& size) {
  const bool fits = std::all_of(size.begin(), size.end(), [](uint32_t n) { return n >= 1 && n <= kMaxItems; });
  if (!fits || product(size) > kMaxItems)
    throw InvalidLaunch("workgroups of " + in_words(size) + " work-items: a workgroup has 1 to " + std::to_string(kMaxItems));
}

uint16_t dimensions_of(const capture::Packet& packet) {
  const uint16_t needed = packet.grid[2] > 1 ? 3 : packet.grid[1] > 1 ? 2 : 1;
  return std::max<uint16_t>(packet.setup & kDimensions, needed);
}

std::optional<uint64_t> value_of(const capture::Dispatch& dispatch, const std::string& kind) {
  const capture::Packet& packet = dispatch.packet;
  if (kind == "hidden_none") return 0;
  if (kind == "hidden_grid_dims") return packet.setup & kDimensions;
  if (kind == "hidden_dynamic_lds_size") return dynamic_lds_of(dispatch);
  for (size_t i = 0; i < 3; ++i) {
    const char axis = "xyz"[i];
    if (kind == std::string("hidden_global_offset_") + axis) return 0;  // HIP never launches with an offset
    if (kind == std::string("hidden_block_count_") + axis) return packet.grid[i] / packet.workgroup[i];
    if (kind == std::string("hidden_group_size_") + axis) return packet.workgroup[i];
    if (kind == std::string("hidden_remainder_") + axis) return packet.grid[i] % packet.workgroup[i];
  }
  return {};
}

}  // namespace

Extent extent_from(const std::string& text) {
  Extent extent{1, 1, 1};
  const char* cursor = text.c_str();
  for (size_t i = 0; i < 3; ++i) {
    char* end = nullptr;
    errno = 0;
    const uint64_t value = *cursor >= '0' && *cursor <= '9' ? std::strtoull(cursor, &end, 10) : 0;
    if (value < 1 || value > kMaxGridItems || errno != 0 || (*end != ',' && *end != '\0')) break;
    extent[i] = static_cast<uint32_t>(value);
    if (*end == '\0') return extent;
    cursor = end + 1;
  }
  throw InvalidLaunch(text + ": not one to three numbers of at least 1, separated by commas");
}

uint32_t max_group_bytes(const capture::Dispatch& dispatch) {
  return (dispatch.origin.isa.find("gfx950") == std::string::npos ? 64 : 160) * 1024;
}

uint32_t dynamic_lds_of(const capture::Dispatch& dispatch) {
  return dispatch.packet.group_bytes > dispatch.kernel.group_bytes ? dispatch.packet.group_bytes - dispatch.kernel.group_bytes
                                                                   : 0;
}

capture::Dispatch launched(const capture::Dispatch& dispatch, const LaunchConfiguration& launch) {
  capture::Dispatch adjusted = dispatch;
  if (launch.as_captured()) return adjusted;
  if (launch.groups || launch.group_size) {
    const Extent groups = launch.groups.value_or(groups_of(dispatch.packet));
    adjusted.packet.workgroup = launch.group_size.value_or(dispatch.packet.workgroup);
    check_group(adjusted.packet.workgroup);
    for (size_t i = 0; i < 3; ++i) {
      const uint64_t items = uint64_t{groups[i]} * adjusted.packet.workgroup[i];
      if (items < 1 || items > kMaxGridItems)
        throw InvalidLaunch(in_words(groups) + " workgroups of " + in_words(adjusted.packet.workgroup) +
                            " work-items: a grid has 1 to " + std::to_string(kMaxGridItems) + " in each dimension");
      adjusted.packet.grid[i] = static_cast<uint32_t>(items);
    }
    adjusted.packet.setup = static_cast<uint16_t>((dispatch.packet.setup & ~kDimensions) | dimensions_of(adjusted.packet));
  }
  const uint32_t dynamic = launch.dynamic_lds.value_or(dynamic_lds_of(dispatch));
  if (const uint32_t limit = max_group_bytes(dispatch); dynamic > limit)
    throw InvalidLaunch(std::to_string(dynamic) + " bytes of LDS: there are " + std::to_string(limit));
  adjusted.packet.group_bytes = dispatch.kernel.group_bytes + dynamic;
  return adjusted;
}

bool is_derived(const capture::KernelArgument& argument) {
  capture::Dispatch any;
  return argument.bytes <= sizeof(uint64_t) && value_of(any, argument.kind).has_value();
}

std::vector<HiddenValue> hidden_values(const capture::Dispatch& dispatch, const capture::KernelMetadata& kernel) {
  std::vector<HiddenValue> values;
  for (const capture::KernelArgument& argument : kernel.arguments)
    if (const auto value = value_of(dispatch, argument.kind); value && argument.bytes <= sizeof *value)
      values.push_back({argument.offset, argument.bytes, *value});
  return values;
}

}  // namespace rpd::replay
