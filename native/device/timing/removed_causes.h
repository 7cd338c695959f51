// The causes of lost time on the device that an experiment with a recording can remove.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/op.h"
#include "isa/semantics.h"

namespace rpd {

// For a description of each cause, and the change to the program that comes closest to removing it, see
// src/rocm_perf_lab/analysis/thread_trace/causes.toml.
enum class Cause : uint8_t {
  MemoryLatency,    // without it, data takes up bandwidth but no time to arrive
  LdsLatency,
  BeyondL2,         // without it, the L2s answer every access to the device's own memory
  MemoryBandwidth,  // beyond the L2s
  L2Bandwidth,
  Uncoalesced,      // without it, each access touches as few lines as its bytes fill
  BankConflicts,
  AtomicContention,
  Barriers,
  Scratch,          // accesses to private memory
  HostMemory,       // without it, the L2s answer reads of the host's or another device's memory
  FewWaves,         // without it, registers, LDS and workgroup size allow as many waves as a CU has slots
  Imbalance,        // without it, all CUs with workgroups that change memory have the same amount of work
  SmallGrid,        // without it, the workgroups that change memory fill the device
  IdleWaves,        // without it, workgroups that change no memory are not launched
  Divergence,       // without it, instructions take only as long to issue as their active lanes need
  VectorIssue,
  MatrixIssue,
  ScalarIssue,      // scalar instructions, branches, s_nop and the like
  LdsIssue,
  AddressIssue,     // look-ups of vector memory accesses
  InstructionFetch,
  WaveLaunch,       // starting waves and workgroups
  LaunchOverhead,
  kCount
};
constexpr size_t kCauses = static_cast<size_t>(Cause::kCount);

constexpr std::array<const char*, kCauses> kCauseNames = {
    "memory-latency", "lds-latency", "beyond-l2",     "memory-bandwidth",  "l2-bandwidth", "uncoalesced",
    "bank-conflicts", "atomics",     "barriers",      "scratch",           "host-memory",  "few-waves",
    "imbalance",      "small-grid",  "idle-waves",    "divergence",        "vector-issue", "matrix-issue",
    "scalar-issue",   "lds-issue",   "address-issue", "instruction-fetch", "wave-launch",  "launch",
};

// Instructions, by Op::index.
using Instructions = std::vector<bool>;

struct RemovedCauses {
  uint32_t causes = 0;                 // the removed causes, one bit each
  const Instructions* only = nullptr;  // only in these instructions; null: everywhere, even outside instructions
  bool accesses_free = false;          // accesses by these instructions take no time at all

  static constexpr uint32_t bit(Cause cause) { return uint32_t{1} << static_cast<uint32_t>(cause); }
  static constexpr uint32_t all() { return (uint32_t{1} << kCauses) - 1; }

  // Whether the cause is removed from the whole dispatch.
  bool removes(Cause cause) const { return !only && (causes & bit(cause)); }
  bool removes(Cause cause, const Op& op) const { return (causes & bit(cause)) && concerns(op); }
  bool takes_no_time(const Op& op) const { return accesses_free && concerns(op); }
  bool concerns(const Op& op) const { return !only || (op.index < only->size() && (*only)[op.index]); }
};

// The causes that can be removed from individual instructions.
constexpr uint32_t kCausesOfInstructions =
    RemovedCauses::bit(Cause::MemoryLatency) | RemovedCauses::bit(Cause::LdsLatency) | RemovedCauses::bit(Cause::BeyondL2) |
    RemovedCauses::bit(Cause::Uncoalesced) | RemovedCauses::bit(Cause::BankConflicts) |
    RemovedCauses::bit(Cause::AtomicContention) | RemovedCauses::bit(Cause::Barriers) | RemovedCauses::bit(Cause::Scratch) |
    RemovedCauses::bit(Cause::HostMemory) | RemovedCauses::bit(Cause::Divergence) | RemovedCauses::bit(Cause::VectorIssue) |
    RemovedCauses::bit(Cause::MatrixIssue) | RemovedCauses::bit(Cause::ScalarIssue) | RemovedCauses::bit(Cause::LdsIssue) |
    RemovedCauses::bit(Cause::AddressIssue);

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
