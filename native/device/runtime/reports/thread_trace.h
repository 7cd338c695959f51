// Thread traces of chosen dispatches: ROCM_PERF_THREAD_TRACE and its companions.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/dispatch.h"

namespace rpd {

class AddressSpace;

// Whether any dispatch of this process may be traced.
bool thread_traces_wanted();

// The CU to trace for this dispatch, in Xcd's numbering; empty if the dispatch is not to be traced.
std::optional<uint32_t> thread_trace_wanted(const DispatchRequest& request);

// Writes the trace of a dispatch that has run, and what each cause costs it. Errors are reported, but the program continues.
void write_thread_trace(const DispatchRequest& request, const DispatchResult& result, const AddressSpace& memory);

}  // namespace rpd
