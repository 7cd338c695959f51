// Captures one dispatch: memory before it, the dispatch itself, memory after it.
#pragma once

#include <functional>

#include "isolate/code_objects.h"
#include "isolate/in_flight.h"

namespace rpd::isolate {

struct Chosen {
  Packet packet;
  std::shared_ptr<const LoadedKernel> kernel;
  hsa_agent_t agent;
};

// Runs on the submitting thread, with all earlier work drained and the barrier closed. Passes the packet to `submit` exactly
// once, whether captured or not, and returns when the dispatch is complete (at once if it could not be captured). Does not
// throw: the program must not notice.
void capture_dispatch(const Chosen& chosen, const std::function<void(const Packet&)>& submit) noexcept;

// Reports why there is no capture.
void report_failure(const std::string& why, const char* event = "failed") noexcept;

}  // namespace rpd::isolate
