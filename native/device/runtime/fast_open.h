// Works around a slow start of ROCr's thunk in model mode.
#pragma once

namespace rpd {

// In ROCr up to 7.2.4 hsaKmtOpenKFD sizes an array by a node count that is not initialised in model mode, then
// zeroes it: by chance up to 4 GiB and several seconds. The array is used for nothing. This replaces the memset
// slot of libhsa-runtime64's procedure linkage table, for the opening thread's next large clearing only: a
// clearing of at least 32 MiB right behind a malloc header in memory that is not resident (fresh from mmap, hence
// already zero) is skipped but for its head, and the slot restored. Does nothing where anything looks otherwise.
void avoid_slow_open();

}  // namespace rpd
