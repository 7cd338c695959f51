// The spool: records that the tracer appends while the program runs, and that rocmperf-rocpd-writer reads after the program has
// ended.
//
// It consists of a file header followed by records in the order of events. The order is significant: a packet's record precedes
// the records of everything that saw it complete, so that the writer can replay submissions, signals and waits. Both sides are
// built together; the format has a version only so that a spool from a different build can be rejected with a clear message.
#pragma once

#include <cstdint>

namespace rpd::spool {

inline constexpr char kMagic[8] = {'R', 'P', 'D', 'S', 'P', 'O', 'O', 'L'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint64_t kHeaderBytes = 4096;  // one page, mapped for as long as the tracer lives

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t used;  // bytes of this header and of all complete records; anything after them was never finished
  uint64_t lost;  // number of records for which there was no room (disk full)
};

enum class Kind : uint32_t {
  process = 1,
  agent,
  counter,
  queue,
  code_object,
  kernel,
  dispatch,
  barrier,
  copy,
  dispatch_end,
  copy_end,
  counters,
  region,
  observed,
  signal_destroyed,
  allocation,
  errors,
};

// Every record begins with this. `bytes` is the size of the whole record, a multiple of 8. Strings and arrays follow the fixed
// part: first the strings, each as a uint32 length and its bytes, without padding in between; then, at the next multiple of 8
// bytes, the array.
struct Record {
  uint32_t bytes;
  Kind kind;
};

struct Process : Record {  // strings: command, environment (JSON), timing, device, timing parameters, version
  uint64_t start_ns;  // since boot, like all times
  uint32_t pid, ppid;
};

struct Agent : Record {  // strings: name, model, vendor, product, extdata (JSON)
  uint32_t node_id, gpu, device_id, type_index;
};

struct Counter : Record {  // strings: name, block, description
  uint32_t index, reserved;
};

struct Queue : Record {
  uint32_t queue_id, node_id;
};

struct CodeObject : Record {  // strings: uri
  uint64_t code_object_id, agent_handle, load_base, load_size, memory_base, memory_size;
  int64_t load_delta;
  uint32_t node_id, storage_type;
};

struct Kernel : Record {  // strings: name
  uint64_t kernel_id, code_object_id, kernel_object;
  int64_t entry_offset;
  uint32_t kernarg_bytes, kernarg_alignment, group_bytes, private_bytes;
  uint32_t sgprs, arch_vgprs, accum_vgprs, reserved;
};

// The origin of an operation: the thread's current HIP call (0 if HIP is not traced), the thread and the HIP stream.
struct Origin {
  uint64_t correlation;
  uint32_t thread, stream;
};

struct Dispatch : Record {
  uint64_t dispatch_id, kernel_object, completion_signal;
  Origin origin;
  uint32_t grid[3], workgroup[3];  // work-items
  uint32_t private_bytes, group_bytes;
  uint32_t queue_id, barrier_bit;
};

enum class Waits : uint32_t { none, all, any };  // which of its signals a packet other than a dispatch waits for

struct Barrier : Record {
  uint64_t completion_signal;
  uint64_t signals[5];  // 0: unused
  uint32_t thread, queue_id;
  uint32_t barrier_bit;
  Waits waits;
};

struct Copy : Record {  // followed by uint64 signals[signal_count], for which it waits
  uint64_t copy_id, completion_signal;
  uint64_t destination, source, size;
  Origin origin;
  uint32_t destination_node, source_node;
  uint32_t signal_count, reserved;
};

struct End : Record {  // the end of a dispatch or of a copy
  uint64_t id, start_ns, end_ns;
};

struct Counters : Record {  // followed by double values[count]
  uint64_t dispatch_id, count;
};

// The errors of the values that the device estimated for a dispatch. Followed by double errors[count], one per counter (NaN if
// the counter is exact); count is 0 if the dispatch does not keep its counters.
struct Errors : Record {
  uint64_t dispatch_id, count;
  double duration;  // a fraction
};

struct Region : Record {  // a HIP call, which rocpd calls a region; strings: function
  uint64_t correlation, parent, start_ns, end_ns;
  uint32_t thread, reserved;
};

struct Observed : Record {  // the thread has seen that this signal's operation is complete
  uint64_t signal;
  uint32_t thread, reserved;
};

struct SignalDestroyed : Record {
  uint64_t signal;
};

struct Allocation : Record {  // size 0: freed
  uint64_t address, size, start_ns, end_ns;
  Origin origin;
  uint32_t node_id, reserved;
};

}  // namespace rpd::spool
