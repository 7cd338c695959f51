// What an experiment with a recording takes away: something that costs time on the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/semantics.h"

namespace rpd {

// Descriptions, and what change of the program comes near to each: src/rocm_perf_lab/analysis/causes.toml.
enum class Cause : uint8_t {
  MemoryLatency,    // data takes no time to arrive, only bandwidth
  LdsLatency,
  BeyondL2,         // the L2s answer every access
  MemoryBandwidth,  // beyond the L2s
  L2Bandwidth,
  Uncoalesced,      // each access touches as few lines as its bytes fill
  BankConflicts,
  AtomicContention,
  Barriers,
  Scratch,          // accesses to private memory
  HostMemory,       // the device's own memory answers instead
  FewWaves,         // registers, LDS and workgroup size allow as many waves as a CU has slots
  Imbalance,        // all CUs that have work have the same
  SmallGrid,        // the same work, in as many waves as the device holds at once
  VectorIssue,
  MatrixIssue,
  ScalarIssue,      // scalar instructions, branches, s_nop and the like
  LdsIssue,
  AddressIssue,     // look-ups of vector memory accesses
  InstructionFetch,
  LaunchOverhead,
  kCount
};
constexpr size_t kCauses = static_cast<size_t>(Cause::kCount);

constexpr std::array<const char*, kCauses> kCauseNames = {
    "memory-latency", "lds-latency",       "beyond-l2",    "memory-bandwidth", "l2-bandwidth", "uncoalesced",
    "bank-conflicts", "atomics",           "barriers",     "scratch",          "host-memory",  "few-waves",
    "imbalance",      "small-grid",        "vector-issue", "matrix-issue",     "scalar-issue", "lds-issue",
    "address-issue",  "instruction-fetch", "launch",
};

struct Idealisation {
  uint32_t causes = 0;            // taken away, one bit each
  const Op* instruction = nullptr;  // whose accesses take no time at all; null for none

  static constexpr uint32_t bit(Cause cause) { return uint32_t{1} << static_cast<uint32_t>(cause); }
  bool removes(Cause cause) const { return causes & bit(cause); }
  static constexpr uint32_t all() { return (uint32_t{1} << kCauses) - 1; }
};

inline Cause issue_cause(Unit unit) {
  switch (unit) {
    case Unit::Valu: return Cause::VectorIssue;
    case Unit::Matrix: return Cause::MatrixIssue;
    case Unit::Lds: return Cause::LdsIssue;
    case Unit::VectorLoad:
    case Unit::VectorStore:
    case Unit::VectorAtomic: return Cause::AddressIssue;
    default: return Cause::ScalarIssue;
  }
}

}  // namespace rpd
