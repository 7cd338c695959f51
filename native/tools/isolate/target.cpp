#include "isolate/target.h"

#include <atomic>
#include <map>
#include <mutex>

#include "isolate/state.h"

namespace rpd::isolate {
namespace {

std::atomic<uint64_t> matched{0};

struct DispatchCounts {
  std::mutex mutex;
  uint64_t dispatches = 0;
  std::map<std::string, uint64_t> by_name;
};

DispatchCounts& dispatch_counts() {
  static DispatchCounts& dispatch_counts = *new DispatchCounts;
  return dispatch_counts;
}

constexpr size_t kMaxNames = 20;

std::string shortened(const std::string& name) { return name.size() <= 120 ? name : name.substr(0, 117) + "..."; }

}  // namespace

bool is_dispatch_to_capture() { return matched.fetch_add(1) == settings().dispatch; }

uint64_t wanted_index() { return settings().dispatch; }

void note_dispatch(const std::string& kernel_name) {
  const std::lock_guard lock(dispatch_counts().mutex);
  ++dispatch_counts().dispatches;
  ++dispatch_counts().by_name[kernel_name];
}

std::string describe_dispatches() {
  const std::lock_guard lock(dispatch_counts().mutex);
  if (dispatch_counts().dispatches == 0) return "the program dispatched no kernel";
  const uint64_t count = matched.load();
  std::string text;
  if (count > 0) {
    text = "only " + std::to_string(count) + " dispatches of kernels that match '" + settings().pattern +
           "', so there is no number " + std::to_string(settings().dispatch) + " (the first is 0)";
    return text;
  }
  text = "no kernel matches '" + settings().pattern + "'; dispatched were";
  size_t count_listed = 0;
  for (const auto& [name, times] : dispatch_counts().by_name) {
    if (count_listed++ == kMaxNames)
      return text + " and " + std::to_string(dispatch_counts().by_name.size() - kMaxNames) + " more";
    text += (count_listed > 1 ? ", " : " ") + shortened(name) + " (" + std::to_string(times) + " times)";
  }
  return text;
}

}  // namespace rpd::isolate
