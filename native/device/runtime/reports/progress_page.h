// How far the dispatch on the engine is, for who watches the program from outside: a page of the file that
// ROCM_PERF_DEVICE_PROGRESS names. Without that variable nothing of this costs anything.
#pragma once

#include <cstdint>

namespace rpd::progress {

constexpr uint64_t kNameBytes = 256;

// Written by one thread at a time. Who reads takes what it finds if `version` is even and the same before and after.
struct Page {
  uint32_t version;
  uint32_t process;
  uint64_t dispatch;  // of this process, from 1
  uint64_t done;      // workgroups
  uint64_t total;     // 0: none is under way
  uint64_t instructions;  // so far: workgroups that run side by side all end late
  char kernel[kNameBytes];  // its demangled name, or the beginning of it; ends with a zero byte
};

// Null without the variable, or where the file is not there or cannot be mapped.
Page* page();

struct Work {
  uint64_t done;  // of total workgroups
  uint64_t total;
  uint64_t instructions;
};

// dispatch: its number in this process, from 1.
void show(uint64_t dispatch, uint64_t kernel_object, const Work& work);
void end();

}  // namespace rpd::progress
