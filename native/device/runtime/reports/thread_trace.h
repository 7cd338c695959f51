// Thread traces of chosen dispatches: see the environment variables that begin with ROCM_PERF_THREAD_TRACE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exec/engine.h"

namespace rpd {

class AddressSpace;

// Whether any dispatch of this process may be traced.
bool are_thread_traces_requested();

// The CU to trace for this dispatch, in Xcd's numbering; empty if the dispatch is not to be traced.
std::optional<uint32_t> count_dispatch_and_choose_cu(const DispatchRequest& request);

// The source line of the instruction at a device address, as "file:line": the line where it is written or, if that is in a
// compiler or ROCm header, the line into which it was inlined. Empty if not known.
std::string line_of_code(uint64_t address);

// Writes the trace of a dispatch that has run on a node's GPU and, if known, what each cause cost the dispatch. Errors are
// reported, but the program continues.
void write_thread_trace(const DispatchRequest& request, const DispatchResult& result, const AddressSpace& memory,
                        uint32_t node);

}  // namespace rpd
