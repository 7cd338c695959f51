#include "runtime/flights.h"

#include <algorithm>
#include <chrono>

#include "runtime/device.h"
#include "runtime/options.h"

namespace rpd {
namespace {

using namespace std::chrono_literals;

// Waits for queues with an earlier packet, since a queue's thread can be late to serve one; but only for a limited time.
bool is_first(const Turns::Seat& seat) {
  constexpr auto kPatience = 50ms;
  if (std::chrono::steady_clock::now() - seat.queued > kPatience) return true;
  const auto list = devices();
  return std::none_of(list.begin(), list.end(), [&](Device* device) { return device->is_about_to_serve(seat.submitted); });
}

}  // namespace

Flights::Flights() : turns(is_first), deadlock(turns, std::chrono::seconds(engine_options().deadlock_seconds)) {}

Flights& flights() {
  static auto* all = new Flights;
  return *all;
}

}  // namespace rpd
