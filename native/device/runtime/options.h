// ROCM_PERF_DEVICE_OPTIONS: "name[=value],name[=value]..."
#pragma once

#include <cstdint>
#include <string_view>

#include "exec/engine.h"

namespace rpd {

//   initial-values=SEED  registers, LDS and private memory start with words drawn from this seed; 0: with zeros
//   kernel-limit=N     a kernel counts as endless if one of its waves executes more than N instructions
//   deadlock-after=N   a kernel fails after it has waited for N seconds for something that cannot happen; 0: never
//   flush-l2           the L2s are empty when a dispatch begins, as when a profiler collects counters
//   observe=all|auto|sampled|none  sampled: of dispatches that are not small, only some XCDs are observed, and what the others
//                      would have counted is estimated; auto: of dispatches that take long; none: nothing is counted or timed,
//                      every dispatch takes kUnobservedDispatchNs
//   lds-check          a kernel fails if it accesses LDS beyond its workgroup's
//   memory-check       a kernel fails if it accesses memory that is not its program's
//   race-check[=SEED]  look for races, executing in an order drawn from this seed (default 1); 0: in the usual order
//   timing.NAME=VALUE  another value for an adjustable parameter of the target's timing table
//   unordered-atomics  the race check also reports atomic loads and stores that nothing orders with other atomic accesses
constexpr uint64_t kUnobservedDispatchNs = 1000;

// Throws a std::runtime_error that names any unknown option or invalid value.
EngineOptions engine_options(std::string_view text);
EngineOptions engine_options();  // from the environment

}  // namespace rpd
