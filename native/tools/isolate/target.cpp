#include "isolate/target.h"

#include <atomic>
#include <map>
#include <mutex>

#include "isolate/state.h"

namespace rpd::isolate {
namespace {

std::atomic<uint64_t> matched{0};

struct Seen {
  std::mutex mutex;
  uint64_t dispatches = 0;
  std::map<std::string, uint64_t> by_name;
};

Seen& seen() {
  static Seen& seen = *new Seen;
  return seen;
}

constexpr size_t kNamesToldOf = 20;

std::string told(const std::string& name) { return name.size() <= 120 ? name : name.substr(0, 117) + "..."; }

}  // namespace

bool is_the_one() { return matched.fetch_add(1) == settings().dispatch; }

uint64_t wanted_index() { return settings().dispatch; }

void saw_dispatch(const std::string& kernel_name) {
  const std::lock_guard lock(seen().mutex);
  ++seen().dispatches;
  ++seen().by_name[kernel_name];
}

std::string what_was_dispatched() {
  const std::lock_guard lock(seen().mutex);
  if (seen().dispatches == 0) return "the program dispatched no kernel";
  const uint64_t count = matched.load();
  std::string text;
  if (count > 0) {
    text = "only " + std::to_string(count) + " dispatches of kernels that match '" + settings().pattern +
           "', so there is no number " + std::to_string(settings().dispatch) + " (the first is 0)";
    return text;
  }
  text = "no kernel matches '" + settings().pattern + "'; dispatched were";
  size_t told_of = 0;
  for (const auto& [name, times] : seen().by_name) {
    if (told_of++ == kNamesToldOf) return text + " and " + std::to_string(seen().by_name.size() - kNamesToldOf) + " more";
    text += (told_of > 1 ? ", " : " ") + told(name) + " (" + std::to_string(times) + " times)";
  }
  return text;
}

}  // namespace rpd::isolate
