// ROCM_PERF_DEVICE_OPTIONS: "name[=value],name[=value]..."
#pragma once

#include <cstdint>
#include <string_view>

#include "exec/engine.h"

namespace rpd {

//   initial-values=SEED  registers, LDS and private memory initially contain random words drawn with this seed; 0: zeros
//   kernel-limit=N     a kernel counts as endless if one of its waves executes more than N instructions
//   deadlock-after=N   a kernel fails after it has waited for N seconds for something that cannot happen; 0: never
//   flush-l2           the L2s are emptied after each dispatch, as when a profiler collects counters
//   observe=all|auto|sampled|none  sampled: for dispatches that are not small, only some XCDs are observed; the others'
//                      counters are estimated; auto: the same, but only for dispatches that take long; none: nothing is
//                      counted or timed, and every dispatch takes kUnobservedDispatchNs
//   lds-check          a kernel fails if it accesses LDS outside its workgroup's allocation
//   memory-check       a kernel fails if it accesses memory that does not belong to its program
//   race-check[=SEED]  the device looks for races, executing in an order determined by this seed (default 1); 0: the usual one
//   timed-cu=N         of the CUs that a kernel uses, the one replayed to time it, counted from 0 across the XCDs in turn
//   timing.NAME=VALUE  a different value for an adjustable parameter of the target's timing table
//   unordered-atomics  the race check also reports atomic loads and stores that nothing orders with other atomic accesses
constexpr uint64_t kUnobservedDispatchNs = 1000;

// Throws a std::runtime_error that names the first option that is unknown or has an invalid value.
EngineOptions engine_options(std::string_view text);
EngineOptions engine_options();  // from the environment, including HSA_XNACK

}  // namespace rpd
