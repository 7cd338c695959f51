// Captures one dispatch: the memory before it, the dispatch itself and the memory after it.
#pragma once

#include <functional>

#include "isolate/code_objects.h"
#include "isolate/in_flight.h"

namespace rpd::isolate {

struct DispatchToCapture {
  Packet packet;
  std::shared_ptr<const LoadedKernel> kernel;
  hsa_agent_t agent;
};

// Must be called on the submitting thread while no other work is running and the submission barrier is closed. Passes the
// packet to `submit` exactly once, whether or not the capture succeeds. Returns when the dispatch is complete or the GPU has
// failed; if the capture fails before the dispatch is submitted, returns without waiting. Never throws, because the program
// must not notice a failure.
void capture_dispatch(const DispatchToCapture& chosen, const std::function<void(const Packet&)>& submit) noexcept;

// Reports why there is no capture.
void report_failure(const std::string& why, const char* event = "failed") noexcept;

}  // namespace rpd::isolate
