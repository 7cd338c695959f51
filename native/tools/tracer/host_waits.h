// Records which of the program's threads have seen which signals complete; this is the host's part in ordering the operations.
#pragma once

#include "common/hsa.h"

namespace rpd::tracer {

// Must be called after a submission that will complete `signal` has been recorded; does nothing for handle 0.
void note_completing_submission(hsa_signal_t signal);

}  // namespace rpd::tracer
