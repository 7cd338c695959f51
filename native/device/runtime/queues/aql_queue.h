// The packet processor of one AQL queue.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "exec/engine.h"
#include "runtime/engine_scheduler.h"
#include "runtime/queues/aql_packets.h"
#include "runtime/queues/pm4_commands.h"
#include "runtime/queues/queue.h"

namespace rpd {

class AqlQueue : public Queue {
 public:
  AqlQueue(Device& device, const model::QueueInfo& info);

  // From now on a packet is served only once it is released, that is, once its doorbell has been rung and its submission time
  // stamped.
  void require_release() { requires_release_.store(true, std::memory_order_release); }
  // Releases the packets before index `end`.
  void release_until(uint64_t end);

  bool can_make_progress() const override {
    return Queue::can_make_progress() && entry_.state != EngineScheduler::Entry::State::Parked;
  }
  bool is_about_to_serve(uint64_t time) const override;
  // The schedule entry of the dispatch in flight.
  EngineScheduler::Entry& entry() { return entry_; }

  // Device address of the amd_queue_t that holds the write pointer.
  uint64_t queue_address() const;

 protected:
  bool serve_packets() override;

 private:
  static constexpr uint64_t kNoPacket = ~uint64_t{0};

  uint16_t* header_of(uint64_t index) const;
  bool is_submitted(uint64_t index);
  AqlPacket copy_of(uint64_t index) const;
  // Frees the current packet's slot for a new packet.
  void free_slot();

  void process(const AqlPacket& packet);
  void process_dispatch(const AqlPacket& packet);
  void process_barrier(const AqlPacket& packet);
  void process_vendor(const AqlPacket& packet);
  void complete_at(const AqlPacket& packet, uint64_t start, uint64_t end);
  // The earliest virtual time at which the packet can start, given its submission time and the earlier packets of this queue.
  uint64_t ready_time(const AqlPacket& packet) const;
  void fail_dispatch(const std::string& kernel, const DispatchResult& result);
  void fail(const std::string& reason, int64_t error_code);

  EngineScheduler::Entry entry_;
  QueueRegisters registers_;
  uint64_t next_ = 0;  // index of the packet to process
  bool failed_ = false;
  uint64_t latest_end_ = 0;    // virtual time, over all packets so far
  uint64_t earliest_start_ = 0;  // virtual time; packets start in order

  std::atomic<bool> requires_release_{false};
  std::atomic<uint64_t> released_end_{0};
  uint64_t held_index_ = kNoPacket;  // a complete packet that has not been released, first seen at held_since_
  std::chrono::steady_clock::time_point held_since_;
};

}  // namespace rpd
