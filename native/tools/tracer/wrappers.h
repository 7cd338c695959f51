// Each function installs the wrappers of one part of the tracer in the API table.
#pragma once

#include "common/hsa.h"

namespace rpd::tracer {

void wrap_queues(HsaApiTable* table);
void wrap_copies(HsaApiTable* table);
void wrap_host_waits(HsaApiTable* table);
void wrap_code_objects(HsaApiTable* table);
void wrap_allocations(HsaApiTable* table);

}  // namespace rpd::tracer
