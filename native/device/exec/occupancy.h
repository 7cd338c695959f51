// How many workgroups a CU holds at once.
#pragma once

#include "exec/workgroup.h"

namespace rpd {

// 0 if not even one fits.
uint32_t resident_workgroups(const Kernel& kernel);

}  // namespace rpd
