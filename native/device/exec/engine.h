// The boundary between the device's runtime (queues, packets, signals) and its execution engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/device_use.h"
#include "memory/address_space.h"
#include "memory/writable_memory.h"

namespace rpd {

class DeviceObserver;
class Timeline;
struct CauseTimes;

// Returns the source line of the instruction at a device address as "file:line"; empty if it is not known.
using LineOf = std::string (*)(uint64_t address);

// One kernel dispatch as the packet processor hands it to the engine. Addresses are device addresses.
struct DispatchRequest {
  uint64_t kernel_object;   // kernel descriptor
  uint64_t kernarg_address;
  uint64_t packet_address;  // address of the AQL packet (dispatch_ptr)
  uint64_t queue_address;   // address of the amd_queue_t (queue_ptr), 0 if unknown
  uint64_t completion_signal;  // 0 for none
  uint64_t ring_address;       // address of the ring that holds the queue's packets ...
  uint64_t ring_bytes;         // ... and its length
  uint32_t grid[3];         // work-items
  uint16_t workgroup[3];
  uint32_t group_segment_size;    // bytes per workgroup, static + dynamic
  uint32_t private_segment_size;  // bytes per work-item
  bool releases;  // whether the packet's release fence has agent or system scope, which writes dirty L2 lines back
  std::optional<uint32_t> traced_cu = std::nullopt;  // the CU to trace, on the first XCD
  LineOf line_of = nullptr;                          // for a traced dispatch; null if source lines are not available
};

// Why a dispatch did not run to completion.
enum class DispatchError : uint8_t {
  None,
  InvalidCode,         // no kernel at the address, or none for this target
  InvalidDimension,    // an empty grid or workgroup
  WorkgroupTooLarge,
  TooMuchGroupMemory,
  TooManyRegisters,
  IllegalInstruction,
  MemoryFault,         // access to an unmapped address: fault_address
  ApertureViolation,   // access outside LDS or private memory, or a misaligned atomic
  Exception,           // s_trap, the instruction limit, an access that memory-check rejects, a failure of the engine itself
};

struct EngineOptions {
  static constexpr uint64_t kDefaultKernelLimit = 10'000'000'000;
  uint64_t kernel_limit = kDefaultKernelLimit;  // instructions that a wave may execute before its kernel counts as endless
  std::optional<uint64_t> race_seed;            // look for races, in an order drawn from this seed; 0: the usual order
  bool unordered_atomics = false;               // the race check also reports atomic accesses that nothing orders
  uint64_t initial_values = 0;  // seed for the initial contents of registers, LDS and private memory; 0: zeros
  uint64_t timed_cu = 0;  // which of the CUs in use is always replayed for timing; numbered across XCDs
  bool observe = true;  // count and time; if false, dispatches have no counters and a fixed time
  uint64_t sampled_beyond = ~uint64_t{0};  // above this number of instructions per XCD, only some XCDs are observed
  bool flush_l2 = false;  // empty the L2s after each dispatch
  uint64_t deadlock_seconds = 30;  // real time after which an endless wait is an error; 0: never
  bool memory_check = false;  // a kernel fails if it accesses memory that is not its program's
  bool page_faults = false;  // kernels can access all of the host's memory, as with XNACK on
  bool lds_check = false;  // a kernel fails if it accesses LDS beyond its workgroup's allocation
  std::vector<std::pair<std::string, double>> timing_parameters;  // override those in the target's table
};

// The outcome of a dispatch. `counters` is indexed like rpd_api::counters. `error` is empty, or one line that says why the
// dispatch failed; a failed dispatch has no counters, times or timeline.
struct DispatchResult {
  std::string error;
  DispatchError error_kind = DispatchError::None;
  uint64_t fault_address = 0;
  std::string foreign_access;  // one line that describes an access outside the program's memory, or empty
  std::vector<std::string> races;  // one line for each race not reported before; only with a race check
  std::vector<std::pair<uint64_t, uint64_t>> written;  // ranges [begin, end) of global memory, sorted; only with a race check
  const char* fixed_order =
      nullptr;  // why the XCDs had to take turns on one host thread; null if they did not, or if the grid is small
  uint64_t duration_alone_ns = 0;  // its duration on a device that runs nothing else ...
  uint64_t duration_ns = 0;  // ... and beside the dispatches that run at the same time, which the runtime fills in
  DeviceUse use;  // how much of the device it uses during that time
  std::vector<double> counters;
  // The possible error of each counter, with the same index (NaN if it is exact); empty if no counter is an estimate.
  std::vector<double> counter_errors;
  double duration_error = 0;  // possible error of both durations, as a fraction; 0 if it is exact
  // Present if a thread trace was requested. Its Ops live until invalidate_code().
  std::shared_ptr<const Timeline> timeline = nullptr;
  std::shared_ptr<const CauseTimes> causes = nullptr;  // likewise
};

class DispatchExecution;

// The state in which advance() leaves a dispatch.
enum class Progress : uint8_t {
  Ended,
  Interrupted,  // another dispatch needs the engine
  Waits,  // makes no progress until memory that its waves poll changes
};

// Whether to interrupt the dispatch. Called repeatedly while the dispatch executes, with the number of instructions since
// advance() began.
using Interruption = std::function<bool(uint64_t instructions)>;

// Executes dispatches, on up to `host_threads` threads. Results, counters and durations do not depend on the number of threads:
// a kernel whose results could otherwise depend on it runs on a single thread (see ExecutionOrder). Several dispatches can be
// in flight, but only one may advance at a time; serialising the calls is up to the caller.
class Engine {
 public:
  // `observer` counts and times. `program_memory` determines what kernels may access; if it is null, they may access
  // whatever is mapped.
  Engine(AddressSpace& memory, std::unique_ptr<DeviceObserver> observer, unsigned host_threads,
         const EngineOptions& options = {}, const WritableMemory* program_memory = nullptr);
  ~Engine();

  // Places the first workgroups. Returns null if the kernel cannot run; `refused` then says why.
  std::shared_ptr<DispatchExecution> begin(const DispatchRequest& request, DispatchResult& refused);
  Progress advance(DispatchExecution& execution, const Interruption& interruption);
  // Whether the memory that a waiting execution polls has changed.
  bool can_resume(const DispatchExecution& execution) const;
  void resume(DispatchExecution& execution);
  // Describes where the waves of a waiting execution are and what they poll.
  std::string describe_positions(const DispatchExecution& execution) const;
  uint64_t instructions(const DispatchExecution& execution) const;
  uint64_t workgroups(const DispatchExecution& execution) const;
  uint64_t workgroups_done(const DispatchExecution& execution) const;  // must not be called while it advances
  // Finishes an execution that has ended, and returns its result.
  DispatchResult end(DispatchExecution& execution);

  // Code at [begin, begin+size) may have changed (the memory was freed): forgets at least what was decoded there.
  void invalidate_code(uint64_t begin, uint64_t size);
  // Empties the caches that outlive a dispatch.
  void invalidate_caches();
  // Empties the caches that belong to the XCDs, except in contexts with a dispatch in flight.
  void invalidate_xcd_caches();
  // Something other than a kernel has written to the device's memory.
  void written_elsewhere(uint64_t address, uint64_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpd
