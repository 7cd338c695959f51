// Tracks work that has been submitted and may be incomplete, so that a capture can wait until nothing is modifying memory.
//
// Dispatches without a completion signal get one from this library. The program's own signals are left in place and polled. A
// program that has given a signal a new value, or destroyed it, can be assumed to have seen the work complete.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/hsa.h"

namespace rpd::isolate {

// All AQL packets are 64 bytes, with the header first and the completion signal last.
union Packet {
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;  // barrier-OR has the same layout
  hsa_amd_vendor_packet_header_t vendor;
  hsa_amd_barrier_value_packet_t barrier_value;
};
static_assert(sizeof(Packet) == 64);

inline uint8_t type_of(const Packet& packet) { return packet.dispatch.header >> HSA_PACKET_HEADER_TYPE & 0xff; }

// The work in flight on one queue, or on all copy engines.
class InFlightList {
 public:
  enum class Order { in_queue, none };  // whether work after a waiting barrier also waits

  explicit InFlightList(Order order) : order_(order) {}

  // Must be called before the packet is passed on; may add a completion signal to it.
  void submitted(Packet& packet);
  void submitted_copy(hsa_signal_t completion, std::span<const hsa_signal_t> waits_for);

  // Whether nothing is running and all remaining work is waiting for signals that are not complete.
  bool is_quiet();
  bool empty();
  // The number of completed pieces of work found so far.
  uint64_t completed() const { return completed_.load(); }

 private:
  enum class Waits : uint8_t { no, all, any, value };
  struct Work {
    hsa_signal_t signal{};
    bool uses_library_signal = false;
    uint64_t serial = 0;
    Waits waits = Waits::no;
    std::vector<hsa_signal_t> dependencies{};
    hsa_amd_barrier_value_packet_t condition{};  // for Waits::value
  };
  void take_completed();
  bool is_complete(const Work& work) const;
  bool is_blocked(const Work& work) const;

  const Order order_;
  std::mutex mutex_;
  std::deque<Work> work_;
  std::atomic<uint64_t> completed_{0};
};

InFlightList& copies_in_flight();

// Destroys the unused signals in the pool that supplies signals to dispatches without their own.
void destroy_signals();

}  // namespace rpd::isolate
