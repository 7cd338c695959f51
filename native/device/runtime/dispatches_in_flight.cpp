#include "runtime/dispatches_in_flight.h"

#include <algorithm>
#include <chrono>

#include "runtime/device.h"
#include "runtime/options.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

// Whether no queue is about to serve an earlier packet. Once the entry has been in line for a certain time, returns true in any
// case, since a queue's thread can be late in serving its packet.
bool is_first(const EngineScheduler::Entry& entry) {
  constexpr auto kPatience = 50ms;
  if (std::chrono::steady_clock::now() - entry.queued > kPatience) return true;
  const auto list = devices();
  return std::none_of(list.begin(), list.end(), [&](Device* device) { return device->is_about_to_serve(entry.submitted); });
}

}  // namespace

DispatchesInFlight::DispatchesInFlight()
    : scheduler(is_first), deadlock_detector(scheduler, std::chrono::seconds(engine_options().deadlock_seconds)) {}

DispatchesInFlight& dispatches_in_flight() {
  static auto* all = new DispatchesInFlight;
  return *all;
}

}  // namespace rpd
