// Records which of the program's threads has seen which signal complete: the host's part in ordering the operations.
#pragma once

#include "common/hsa.h"

namespace rpd::tracer {

// To be called after a submission that will complete `signal` (handle 0: nothing) has been recorded.
void signal_will_complete(hsa_signal_t signal);

}  // namespace rpd::tracer
