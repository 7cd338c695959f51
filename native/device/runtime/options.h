// ROCM_PERF_DEVICE_OPTIONS: "name[=value],name[=value]..."
#pragma once

#include <string_view>

#include "exec/dispatch.h"

namespace rpd {

//   initial-values=SEED  registers, LDS and private memory begin with words drawn from this seed; 0: with zeros
//   kernel-limit=N     a wave that executes more than N instructions belongs to an endless kernel
//   deadlock-after=N   a kernel that has waited for N seconds for what nobody can do has failed; 0: it never has
//   flush-l2           the L2s are empty when a dispatch begins, as where a profiler collects counters
//   lds-check          a kernel that accesses LDS beyond its workgroup's has failed
//   race-check[=SEED]  look for races, executing in an order of this seed (default 1); 0: in the usual order
//   write-check        a kernel that writes memory which is not its program's has failed
// Throws std::runtime_error that names an option which is none of these or whose value cannot be.
EngineOptions engine_options(std::string_view text);
EngineOptions engine_options();  // of the environment

}  // namespace rpd
