// Managed memory: its preferred location and access attributes.
//
// Managed memory is host memory, and the device accesses it in place: nothing migrates, so advice and prefetches do not affect
// modelled times. The thunk's model accepts attributes but discards them. Querying an attribute there would end the process, so
// they are kept here.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/hooks/hooks.h"
#include "runtime/hooks/memory_declarations.h"

namespace rpd {
namespace {

constexpr uint64_t kPage = 4096;

// Maps address ranges to values.
class Ranges {
 public:
  void set(uint64_t begin, uint64_t end, uint64_t value) {
    split(begin);
    split(end);
    parts_.erase(parts_.lower_bound(begin), parts_.lower_bound(end));
    parts_[begin] = {end, value};
  }
  // The value of the range; empty unless the whole range has the same value.
  std::optional<uint64_t> get(uint64_t begin, uint64_t end) const {
    auto part = parts_.upper_bound(begin);
    if (part == parts_.begin() || (--part)->second.end <= begin) return std::nullopt;
    const uint64_t value = part->second.value;
    for (uint64_t address = begin; address < end; address = (part++)->second.end)
      if (part == parts_.end() || part->first > address || part->second.value != value) return std::nullopt;
    return value;
  }

 private:
  struct Part {
    uint64_t end;
    uint64_t value;
  };
  void split(uint64_t address) {
    const auto next = parts_.lower_bound(address);
    if (next == parts_.begin()) return;
    auto& [begin, part] = *std::prev(next);
    if (part.end <= address) return;
    parts_[address] = part;
    part.end = address;
  }
  std::map<uint64_t, Part> parts_;  // by first address; without overlaps
};

struct Attributes {
  std::mutex mutex;
  std::map<uint64_t, Ranges> plain;  // by attribute
  std::map<uint64_t, Ranges> access;  // by agent; the value is one of the access attributes
};

Attributes& attributes() {
  static auto* all = new Attributes;
  return *all;
}

struct Pages {
  uint64_t begin, end;
  Pages(const void* address, size_t size)
      : begin(reinterpret_cast<uint64_t>(address) & ~(kPage - 1)),
        end((reinterpret_cast<uint64_t>(address) + size + kPage - 1) & ~(kPage - 1)) {}
};

bool is_access(uint64_t attribute) {
  return attribute >= HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE && attribute <= HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS;
}

// HIP maps managed memory itself and informs ROCr only afterwards.
hsa_status_t set_attributes(void* address, size_t size, hsa_amd_svm_attribute_pair_t* pairs, size_t count) {
  const hsa_status_t status = original().amd.hsa_amd_svm_attributes_set_fn(address, size, pairs, count);
  if (status != HSA_STATUS_SUCCESS) return status;
  writable_memory().add(reinterpret_cast<uint64_t>(address), size);
  const Pages pages(address, size);
  const std::lock_guard lock(attributes().mutex);
  for (size_t i = 0; i < count; ++i) {
    const auto [attribute, value] = pairs[i];
    Ranges& ranges = is_access(attribute) ? attributes().access[value] : attributes().plain[attribute];
    ranges.set(pages.begin, pages.end, is_access(attribute) ? attribute : value);
  }
  return status;
}

uint64_t default_of(uint64_t attribute) {
  return attribute == HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG ? HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED : 0;
}

hsa_status_t get_attributes(void* address, size_t size, hsa_amd_svm_attribute_pair_t* pairs, size_t count) {
  if (!address || size == 0 || (!pairs && count > 0)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Pages pages(address, size);
  const std::lock_guard lock(attributes().mutex);
  for (size_t i = 0; i < count; ++i) {
    auto& [attribute, value] = pairs[i];
    if (is_access(attribute)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;  // access attributes can only be set
    if (attribute == HSA_AMD_SVM_ATTRIB_ACCESS_QUERY)
      attribute = attributes().access[value].get(pages.begin, pages.end).value_or(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE);
    else value = attributes().plain[attribute].get(pages.begin, pages.end).value_or(default_of(attribute));
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t prefetch(void* address, size_t size, hsa_agent_t agent, uint32_t count, const hsa_signal_t* dependencies,
                      hsa_signal_t completion) {
  const hsa_status_t status =
      original().amd.hsa_amd_svm_prefetch_async_fn(address, size, agent, count, dependencies, completion);
  if (status != HSA_STATUS_SUCCESS) return status;
  const Pages pages(address, size);
  const std::lock_guard lock(attributes().mutex);
  attributes().plain[HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION].set(pages.begin, pages.end, agent.handle);
  return status;
}

}  // namespace

void hook_managed_memory(AmdExtTable& amd) {
  amd.hsa_amd_svm_attributes_set_fn = set_attributes;
  amd.hsa_amd_svm_attributes_get_fn = get_attributes;
  amd.hsa_amd_svm_prefetch_async_fn = prefetch;
}

}  // namespace rpd
