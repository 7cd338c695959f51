// The timing parameters that other parts of the device need.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rpd {

// The time between a dispatch's packet becoming ready and the dispatch starting.
uint64_t dispatch_gap_ns();
// What it costs the host thread to submit one kernel or copy.
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
// Sets adjustable parameters to these values, and all others to the table's. To be called only while nothing is executing.
// Throws std::runtime_error if a name is not that of an adjustable parameter or a value is out of range.
void set_timing_parameters(const ParameterValues& values);

}  // namespace rpd
