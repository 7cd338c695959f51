// The boundary between the device's runtime (queues, packets, signals) and its execution engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/address_space.h"
#include "memory/program_memory.h"

namespace rpd {

class DeviceObserver;
class Timeline;

// One kernel dispatch as the packet processor hands it to the engine. Addresses are device addresses.
struct DispatchRequest {
  uint64_t kernel_object;   // kernel descriptor
  uint64_t kernarg_address;
  uint64_t packet_address;  // of the AQL packet (dispatch_ptr)
  uint64_t queue_address;   // of the amd_queue_t (queue_ptr), 0 if unknown
  uint64_t completion_signal;  // 0 for none
  uint64_t ring_address;       // of the queue's packets ...
  uint64_t ring_bytes;         // ... and how long it is
  uint32_t grid[3];         // work-items
  uint16_t workgroup[3];
  uint32_t group_segment_size;    // bytes a workgroup, static + dynamic
  uint32_t private_segment_size;  // bytes a work-item
  bool acquires;  // the packet's acquire fence is agent or system scope: L1 and (system) L2 see fresh memory
  bool releases;  // likewise for the release fence: dirty L2 lines are written back
  std::optional<uint32_t> traced_cu = std::nullopt;  // of the first XCD: a thread trace of it is wanted
};

// What keeps a dispatch from running to its end.
enum class DispatchError : uint8_t {
  None,
  InvalidCode,         // no kernel there, or not one for this target
  InvalidDimension,    // an empty grid or workgroup
  WorkgroupTooLarge,
  TooMuchGroupMemory,
  TooManyRegisters,
  IllegalInstruction,
  MemoryFault,         // an address that is not mapped: fault_address
  ApertureViolation,   // outside of LDS or private memory, misaligned atomic
  Exception,           // s_trap, the instruction limit, a write that is checked, or a failure of the engine itself
};

struct EngineOptions {
  static constexpr uint64_t kDefaultKernelLimit = 10'000'000'000;
  uint64_t kernel_limit = kDefaultKernelLimit;  // instructions that a wave may execute: more is an endless kernel
  std::optional<uint64_t> race_seed;            // look for races, with execution in an order of this seed; 0: the usual
  uint64_t initial_values = 0;                  // of registers, LDS and private memory: drawn from this seed; 0: zeros
  uint64_t timed_cu = 0;                        // which of the CUs in use is replayed for the time; XCDs in turn
  bool flush_l2 = false;                        // after each dispatch
  uint64_t deadlock_seconds = 30;               // real time after which waiting for ever is an error; 0: never
  bool write_check = false;                     // a kernel that writes what is not its program's has failed
  bool lds_check = false;                       // a kernel that accesses LDS beyond its workgroup's has failed
};

// What became of it. `counters` is indexed as rpd_api::counters. `error` is empty, or one line that names
// kernel, pc and instruction; then nothing else holds.
struct DispatchResult {
  std::string error;
  DispatchError error_kind = DispatchError::None;
  uint64_t fault_address = 0;
  std::string foreign_write;       // one line that names what the kernel wrote, if that was not its program's; else empty
  std::vector<std::string> races;  // a line each, of those not reported before; only with a race check
  std::vector<std::pair<uint64_t, uint64_t>> written;  // global memory, [begin, end) each, ascending; only with a race check
  const char* fixed_order = nullptr;  // why the XCDs ran in turns on one host thread, if they had to
  uint64_t duration_ns = 0;
  std::vector<double> counters;
  // If asked for; its Ops live until forget_code().
  std::shared_ptr<const Timeline> timeline = nullptr;
};

class Execution;

// How far a dispatch has come.
enum class Progress : uint8_t {
  Ended,
  Interrupted,  // the engine is wanted for another one
  Waits,        // nothing will happen until memory changes that its waves look at
};

// Asked again and again while a dispatch executes, with the instructions since advance(): whether to interrupt it.
using Interruption = std::function<bool(uint64_t instructions)>;

// Executes dispatches, on up to `host_threads` threads. Results, counters and durations do not depend on the number of
// threads: kernels for which they could run on one (see ExecutionOrder). Several dispatches can be under way, one at a
// time advances; the caller serialises.
class Engine {
 public:
  // `observer` counts and times. program_memory: what write_check goes by; null for no such check.
  Engine(AddressSpace& memory, std::unique_ptr<DeviceObserver> observer, unsigned host_threads,
         const EngineOptions& options = {}, const ProgramMemory* program_memory = nullptr);
  ~Engine();

  // Places the first workgroups. Null if the kernel cannot run; `refused` says why.
  std::shared_ptr<Execution> begin(const DispatchRequest& request, DispatchResult& refused);
  Progress advance(Execution& execution, const Interruption& interruption);
  // Of one that waits: whether the memory has changed.
  bool can_go_on(const Execution& execution) const;
  void go_on(Execution& execution);
  // Of one that waits: where its waves are and what they look at.
  std::string whereabouts(const Execution& execution) const;
  uint64_t instructions(const Execution& execution) const;
  uint64_t workgroups(const Execution& execution) const;
  uint64_t workgroups_done(const Execution& execution) const;  // while it does not advance
  // Of one that has ended.
  DispatchResult end(Execution& execution);

  // Code at [begin, begin+size) may have changed (the memory was freed): forget what was decoded there.
  void forget_code(uint64_t begin, uint64_t size);
  // Nothing is left in the caches that outlive a dispatch.
  void forget_caches();
  // Something other than a kernel has written to the device's memory.
  void written_elsewhere(uint64_t address, uint64_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpd
