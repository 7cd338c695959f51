// Each function installs the wrappers of one part of the library in the API table.
#pragma once

#include "common/hsa.h"

namespace rpd::isolate {

void wrap_memory(HsaApiTable* table);
void wrap_code_objects(HsaApiTable* table);
void wrap_signals(HsaApiTable* table);
void wrap_copies(HsaApiTable* table);
void wrap_queues(HsaApiTable* table);
void wrap_failures(HsaApiTable* table);

// Destroys the signals that were assigned to packets, except for signals still in use. ROCr warns about signals that remain at
// shutdown.
void give_up_signals();

}  // namespace rpd::isolate
