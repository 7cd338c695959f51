// The timing parameters that other parts of the device need.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rpd {

// The time from when a dispatch's packet is ready to when the dispatch starts.
uint64_t launch_overhead_ns();
// The host thread's cost of submitting one kernel or copy.
uint64_t submit_cost_ns();
// A copy engine's fixed cost for a copy, however many packets it takes.
uint64_t copy_overhead_ns();
// The route by which a copy engine moves data.
enum class Route : uint8_t { WithinDevice, HostLink, PeerLink };
// The nanoseconds that it takes to move `bytes`.
uint64_t transfer_ns(uint64_t bytes, Route route);
// Identifies the set of parameters. The pointer never changes; the text changes with set_timing_parameters().
const char* timing_parameters_hash();

using ParameterValues = std::vector<std::pair<std::string, double>>;
// Sets adjustable parameters to these values, and all others to the table's. Called while nothing executes. Throws
// std::runtime_error for a name that is not adjustable and for a value out of range.
void set_timing_parameters(const ParameterValues& values);

}  // namespace rpd
