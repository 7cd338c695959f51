// A copy engine. Its ring is a stream of dwords; both pointers count bytes and never wrap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/queues/queue.h"
#include "runtime/queues/sdma_packets.h"

struct amd_signal_s;

namespace rpd {

class SdmaQueue : public Queue {
 public:
  SdmaQueue(Device& device, const model::QueueInfo& info);

 protected:
  bool serve_packets() override;

 private:
  // The packet at the read pointer; copied to make it contiguous if it wraps around the end of the ring.
  sdma::Packet packet();
  void execute(const sdma::Packet& packet);

  void copy_linear(const sdma::Packet& packet);
  void copy_rect(const sdma::Packet& packet);
  void fill(const sdma::Packet& packet);
  void fence(const sdma::Packet& packet);
  void poll(const sdma::Packet& packet);
  void atomic(const sdma::Packet& packet);
  void timestamp(const sdma::Packet& packet);

  // Adds a copy of `bytes` bytes to the work since the last signal. `spread`: the size of the range from the target's first
  // byte to its last.
  void moved(uint64_t bytes, uint64_t spread, uint64_t target, uint64_t source);
  // Records in `signal`, which is about to complete, the times of the work done since the last signal.
  void finish_work(amd_signal_s& signal, uint64_t value_address);
  [[noreturn]] void fail(const std::string& reason) const;

  uint64_t read_ = 0;  // bytes
  uint32_t wrapped_packet_[16];

  // Virtual time.
  uint64_t latest_end_ = 0;    // end of the engine's finished work
  uint64_t dependencies_ = 0;  // end of the operations that the current work waited for
  uint64_t duration_ = 0;      // duration of the current work
};

}  // namespace rpd
