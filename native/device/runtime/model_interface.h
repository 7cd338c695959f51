// The interface between ROCr's thunk (libhsakmt) and a software GPU model, version 0.4.
//
// The thunk loads $HSA_MODEL_LIB, calls get_hsakmt_model_functions() and then drives the model through the table below. The
// table's layout and meaning follow ROCr's hsakmtmodeliface.h, a header that is not installed.
#pragma once

#include <cstdint>

namespace rpd::model {

inline constexpr uint32_t kInterfaceMajor = 0;
inline constexpr uint32_t kInterfaceMinor = 4;

// Addresses are device addresses. `doorbell` is always null: the thunk never fills it in.
struct QueueInfo {
  uint64_t ring_base_address;
  uint64_t write_pointer_address;
  uint64_t read_pointer_address;
  uint64_t* doorbell;
  uint32_t ring_size;  // bytes
  uint32_t queue_type;
};

// The values of QueueInfo::queue_type that the thunk passes.
enum QueueType : uint32_t { kSdmaQueue = 1, kComputeAqlQueue = 2 };

// Bits of the flags passed to alloced_memory (defined by KFD).
enum AllocationFlag : uint32_t { kLocalMemory = 1u << 0 };

// Wakes the threads that wait for an event. The callback sets the event and broadcasts without holding the mutex under which
// waiters check, so a wake-up can be lost. It aborts the process if the event has been destroyed.
using SetEvent = void (*)(void* data, unsigned event_id);

struct Functions {
  uint32_t version_major;
  uint32_t version_minor;
  void* (*create)();
  void (*destroy)(void* device);
  void (*set_global_aperture)(void* device, void* base, uint64_t size);
  void (*alloced_memory)(void* device, void* address, uint64_t size, uint32_t flags);
  void (*freed_memory)(void* device, void* address, uint64_t size);
  void (*set_notify_event)(void* device, void (*callback)(void*), void* data);
  void (*set_wait_event)(void* device, void (*callback)(void*, uint64_t, uint64_t), void* data);
  void* (*register_queue)(void* device, QueueInfo* info);
  void (*set_set_event)(void* device, SetEvent set_event, void* data);
  void (*destroy_queue)(void* device, void* queue);
};

}  // namespace rpd::model
