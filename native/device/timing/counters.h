// The counters that the device keeps for every dispatch.
#pragma once

#include <vector>

#include "include/rocm_perf_device.h"
#include "isa/program.h"
#include "timing/duration.h"
#include "timing/memory_counts.h"
#include "timing/wave_counts.h"

namespace rpd {

// In the order of DispatchResult::counters.
const std::vector<rpd_counter_info>& counter_table();

// Whether the counter is an estimate if only a sample of the dispatch was observed. The others are exact in any case.
bool is_estimated(size_t counter);

// The counters of one dispatch. `executed[i]` is the number of times that waves executed the program's Op i.
std::vector<double> counter_values(const Program& program, const std::vector<uint64_t>& executed, const MemoryCounts& memory,
                                   const WaveCounts& waves, const WorkDone& work);

}  // namespace rpd
