// The HSA functions beneath a tools library: the API table as it was before OnLoad installed the wrappers. The library calls
// ROCr only through this table, so its wrappers never see its own calls.
#pragma once

#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD
#endif
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

namespace rpd {

struct Hsa {
  CoreApiTable core;
  AmdExtTable amd;
  ImageExtTable image;  // filled in only if the tool copies it
  hsa_ven_amd_loader_1_03_pfn_t loader;
};

inline Hsa hsa;  // plain data, so usable even after all static destructors have run

// The signal's own memory, whose layout the HSA ABI defines (amd_hsa_signal.h). It is read directly because the API would have
// side effects: a tool's read of a signal must not count as a read by the application.
inline amd_signal_t* memory_of(hsa_signal_t signal) { return reinterpret_cast<amd_signal_t*>(signal.handle); }

inline bool completed(hsa_signal_t signal) { return __atomic_load_n(&memory_of(signal)->value, __ATOMIC_ACQUIRE) <= 0; }

}  // namespace rpd
