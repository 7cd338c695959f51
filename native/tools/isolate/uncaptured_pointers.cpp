#include "isolate/uncaptured_pointers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "isolate/memory_map.h"

namespace rpd::isolate {

std::vector<std::string> uncaptured_pointers(std::span<const unsigned char> kernarg, const capture::KernelMetadata& kernel,
                                             const std::vector<capture::Region>& regions) {
  std::vector<std::string> descriptions;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const capture::KernelArgument& argument = kernel.arguments[i];
    uint64_t value = 0;
    if (argument.kind != "global_buffer" || argument.offset > kernarg.size() || kernarg.size() - argument.offset < sizeof value)
      continue;
    std::memcpy(&value, kernarg.data() + argument.offset, sizeof value);
    const bool captured =
        std::any_of(regions.begin(), regions.end(), [&](const capture::Region& r) { return r.contains(value, 1); });
    if (captured || value >= capture::kAddressLimit || !is_readable(value, 1)) continue;
    char text[160];
    std::snprintf(text, sizeof text,
                  "host memory at 0x%llx, to which kernel argument %zu points: it was not registered with the GPU",
                  static_cast<unsigned long long>(value), i);
    descriptions.push_back(text);
  }
  return descriptions;
}

}  // namespace rpd::isolate
