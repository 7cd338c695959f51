// The progress of the dispatch that has the engine, for observers outside the program: the first page of the file that
// ROCM_PERF_DEVICE_PROGRESS names. If the variable is not set, this costs nothing.
#pragma once

#include <cstdint>

namespace rpd::progress {

constexpr uint64_t kNameBytes = 256;

// Written by one thread at a time. A reader may use what it has read if `version` was even before the read and is unchanged
// after it.
struct Page {
  uint32_t version;
  uint32_t process;
  uint64_t dispatch;  // its number in this process, counted from 1
  uint64_t done;      // workgroups
  uint64_t total;     // workgroups; 0: no dispatch is in flight
  uint64_t instructions;  // executed so far; needed because workgroups that run side by side end at about the same time
  char kernel[kNameBytes];  // the demangled name, truncated if need be; zero-terminated
};

// Null if the variable is not set, or the file does not exist or cannot be mapped.
Page* page();

struct Work {
  uint64_t done;  // workgroups, out of `total`
  uint64_t total;
  uint64_t instructions;
};

// dispatch: its number in this process, counted from 1.
void show(uint64_t dispatch, uint64_t kernel_object, const Work& work);
void end();

}  // namespace rpd::progress
