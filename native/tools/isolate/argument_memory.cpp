#include "isolate/argument_memory.h"

#include <mutex>
#include <set>

namespace rpd::isolate {
namespace {

struct NotedAddresses {
  std::mutex mutex;
  std::set<uint64_t> addresses;  // no more than fit into the pools, since their memory is reused
};

NotedAddresses& noted() {
  static NotedAddresses& noted =
      *new NotedAddresses;  // lives as long as the process: packets may still be submitted while the process exits
  return noted;
}

}  // namespace

void note_arguments(const void* kernarg) {
  const std::lock_guard lock(noted().mutex);
  noted().addresses.insert(reinterpret_cast<uint64_t>(kernarg));
}

std::vector<uint64_t> argument_allocations(const std::vector<capture::Region>& regions) {
  const std::lock_guard lock(noted().mutex);
  std::vector<uint64_t> addresses;
  for (const capture::Region& region : regions)
    for (const capture::Allocation& allocation : region.allocations) {
      const auto first = noted().addresses.lower_bound(allocation.address);
      if (first != noted().addresses.end() && *first - allocation.address < allocation.bytes)
        addresses.push_back(allocation.address);
    }
  return addresses;
}

}  // namespace rpd::isolate
