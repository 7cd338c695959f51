// Hands the API tables of ROCr and HIP to a profiler that is built on AMD's rocprofiler-sdk, such as rocprofv3.
//
// AMD's ROCr and HIP do so themselves, through rocprofiler-register. Debian's are built without it, so that a profiler would
// see nothing of the program.
#pragma once

#include <hsa/hsa_api_trace.h>

namespace rpd {

// Does nothing without a profiler in the process, or if ROCr hands over its tables itself.
void hand_tables_to_profiler(HsaApiTable* table);

}  // namespace rpd
