// The counters that the device keeps for every dispatch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "include/rocm_perf_device.h"
#include "isa/program.h"
#include "timing/memory_counts.h"
#include "timing/wave_counts.h"
#include "timing/work_done.h"

namespace rpd {

// The counters of the device's target, in the order of DispatchResult::counters.
const std::vector<rpd_counter_info>& counter_table();

// The counter for this event of this hardware block on the device's target, if there is one.
std::optional<size_t> counter_of_event(std::string_view block, uint32_t event);

// Whether the counter is an estimate if only a sample of the dispatch was observed. All other counters are always exact.
bool is_estimated(size_t counter);
// Whether the counter depends on what the L2s hold when the dispatch begins and, if so, whether it counts requests or lines
// (rather than cycles).
bool depends_on_l2(size_t counter);
bool is_request(size_t counter);
// The total cycles of all waves, and whether a counter counts a part of these cycles.
double wave_cycles(const std::vector<double>& counters);
bool is_part_of_wave_cycles(size_t counter);

// The counters of one dispatch. `executed[i]` is the number of times that waves executed the program's Op i.
std::vector<double> counter_values(const Program& program, const std::vector<uint64_t>& executed, const MemoryCounts& memory,
                                   const WaveCounts& waves, const WorkDone& work);

}  // namespace rpd
