#include "runtime/queues/sdma_queue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "runtime/device.h"
#include "runtime/queues/copy_dependencies.h"
#include "runtime/queues/event_count.h"
#include "runtime/queues/signals.h"
#include "runtime/reports/log.h"
#include "runtime/reports/memory_fault.h"
#include "runtime/virtual_clock.h"
#include "timing/parameters.h"

namespace rpd {
namespace {

// How POLL_REGMEM compares the masked word with the reference; every comparison is unsigned.
bool poll_satisfied(uint32_t function, uint32_t value, uint32_t reference) {
  switch (function) {
    case 0: return true;
    case 1: return value < reference;
    case 2: return value <= reference;
    case 3: return value == reference;
    case 4: return value != reference;
    case 5: return value >= reference;
    case 6: return value > reference;
    default: return false;
  }
}

Route route(Owner from, Owner to) {
  if (from == kHost || to == kHost) return Route::HostLink;
  return from == to ? Route::WithinDevice : Route::PeerLink;
}

Device* device_of(Owner owner) { return owner == kHost ? nullptr : devices()[static_cast<size_t>(owner)]; }

}  // namespace

SdmaQueue::SdmaQueue(Device& device, const model::QueueInfo& info) : Queue(device, info) {
  read_ = *device.memory().at<uint64_t>(info.read_pointer_address);
}

bool SdmaQueue::serve_packets() {
  const auto* write_pointer = device_.memory().at<uint64_t>(info_.write_pointer_address);
  bool served = false;
  while (!stopping() && read_ < __atomic_load_n(write_pointer, __ATOMIC_ACQUIRE)) {
    const sdma::Packet next = packet();
    const uint32_t length = next.length();
    if (length == 0) {
      char text[80];
      std::snprintf(text, sizeof text, "SDMA packet 0x%08x at byte %lu of its queue is unknown", next.dword(0), read_);
      fail(text);
    }
    {
      const FaultReportScope fault_reports;
      execute(next);
    }
    if (stopping()) break;
    read_ += length * sizeof(uint32_t);
    __atomic_store_n(device_.memory().at<uint64_t>(info_.read_pointer_address), read_, __ATOMIC_RELEASE);
    served = true;
  }
  return served;
}

sdma::Packet SdmaQueue::packet() {
  const auto* ring = device_.memory().at<uint32_t>(info_.ring_base_address);
  const uint32_t dwords = info_.ring_size / sizeof(uint32_t);
  const uint32_t first = read_ / sizeof(uint32_t) % dwords;
  if (first + std::size(wrapped_packet_) <= dwords) return sdma::Packet(ring + first);
  for (uint32_t i = 0; i < std::size(wrapped_packet_); ++i) wrapped_packet_[i] = ring[(first + i) % dwords];
  return sdma::Packet(wrapped_packet_);
}

void SdmaQueue::execute(const sdma::Packet& packet) {
  log_line("SDMA queue 0x%lx byte %lu: opcode %u.%u", ring_address(), read_, packet.opcode(), packet.sub_opcode());
  switch (packet.opcode()) {
    case sdma::kCopy: return packet.sub_opcode() == sdma::kLinear ? copy_linear(packet) : copy_rect(packet);
    case sdma::kFence: return fence(packet);
    case sdma::kTrap: return device_.wakeups().raise(packet.bits(1, 0, 28));
    case sdma::kPollRegmem: return poll(packet);
    case sdma::kAtomic: return atomic(packet);
    case sdma::kConstantFill: return fill(packet);
    case sdma::kTimestamp: return timestamp(packet);
    default: return;  // NOP; also GCR, since the copy engine has no caches here
  }
}

void SdmaQueue::copy_linear(const sdma::Packet& packet) {
  const uint64_t bytes = packet.bits(1, 0, 30) + uint64_t{1};
  const uint64_t source = packet.qword(3), target = packet.qword(5);
  std::memmove(device_.memory().at(target), device_.memory().at(source), bytes);
  moved(bytes, bytes, target, source);
}

void SdmaQueue::copy_rect(const sdma::Packet& packet) {
  const sdma::RectCopy copy(packet);
  const uint64_t size = copy.element_bytes;
  const auto row = [&](const sdma::Box& box, uint64_t y, uint64_t z) {
    return device_.memory().at<char>(box.address) + ((box.z + z) * box.slice + (box.y + y) * box.pitch + box.x) * size;
  };
  for (uint64_t z = 0; z < copy.depth; ++z)
    for (uint64_t y = 0; y < copy.height; ++y) std::memmove(row(copy.target, y, z), row(copy.source, y, z), copy.width * size);
  const uint64_t bytes = copy.width * copy.height * copy.depth * size;
  const char* const begin = row(copy.target, 0, 0);
  const char* const end = row(copy.target, copy.height - 1, copy.depth - 1) + copy.width * size;
  const uint64_t target = copy.target.address + static_cast<uint64_t>(begin - device_.memory().at<char>(copy.target.address));
  if (bytes) moved(bytes, static_cast<uint64_t>(end - begin), target, copy.source.address);
}

void SdmaQueue::fill(const sdma::Packet& packet) {
  constexpr uint32_t kDwords = 2;
  if (packet.bits(0, 30, 2) != kDwords) fail("SDMA fill with elements that are not dwords");
  const uint64_t target = packet.qword(1);
  const uint64_t bytes = (packet.bits(4, 0, 22) / sizeof(uint32_t) + uint64_t{1}) * sizeof(uint32_t);
  std::fill_n(device_.memory().at<uint32_t>(target), bytes / sizeof(uint32_t), packet.dword(3));
  moved(bytes, bytes, target, target);
}

void SdmaQueue::moved(uint64_t bytes, uint64_t spread, uint64_t target, uint64_t source) {
  const Owner to = device_.allocations().owner(target);
  if (Device* const written = device_of(to)) written->copied_to(target, spread);
  if (duration_ == 0) duration_ = copy_overhead_ns();
  duration_ += transfer_ns(bytes, route(device_.allocations().owner(source), to));
}

void SdmaQueue::fence(const sdma::Packet& packet) {
  auto* target = device_.memory().at<uint32_t>(packet.qword(1));
  amd_signal_t* signal = signal_of_value(target);
  if (signal) finish_work(*signal, packet.qword(1));
  __atomic_store_n(target, packet.dword(3), __ATOMIC_RELEASE);
  signal_changes().announce();
}

void SdmaQueue::poll(const sdma::Packet& packet) {
  const bool memory = packet.bits(0, 31, 1);
  if (!memory) return;  // a register: flushes the host data path, which this device does not have
  auto* target = device_.memory().at<uint32_t>(packet.qword(1));
  const uint32_t function = packet.bits(0, 28, 3), reference = packet.dword(3), mask = packet.dword(4);
  const auto satisfied = [&] { return poll_satisfied(function, __atomic_load_n(target, __ATOMIC_ACQUIRE) & mask, reference); };
  if (!wait_until(satisfied)) return;
  if (const amd_signal_t* signal = signal_of_value(target)) dependencies_ = std::max(dependencies_, completion_time(*signal));
}

void SdmaQueue::atomic(const sdma::Packet& packet) {
  if (packet.bits(0, 25, 7) != sdma::kAtomicAdd64) fail("SDMA atomic other than a 64-bit addition");
  auto* target = device_.memory().at<uint64_t>(packet.qword(1));
  amd_signal_t* signal = signal_of_value(target);
  uint32_t event = 0;
  if (signal) {
    finish_work(*signal, packet.qword(1));
    event = signal->event_id;  // the signal may be gone once its value has been seen
  }
  __atomic_fetch_add(target, packet.qword(3), __ATOMIC_ACQ_REL);
  signal_changes().announce();
  // ROCr adds an interrupt packet only for signals with a mailbox; under the thunk's model no signal has one.
  device_.wakeups().raise(event);
}

void SdmaQueue::finish_work(amd_signal_t& signal, uint64_t value_address) {
  const hsa_signal_t handle{value_address & ~uint64_t{AMD_SIGNAL_ALIGN_BYTES - 1}};
  const uint64_t submitted = copy_dependencies().take_ready_time(handle);
  const uint64_t start = std::max({latest_end_, dependencies_, submitted});
  latest_end_ = start + duration_;
  set_times(signal, start, latest_end_);
  dependencies_ = duration_ = 0;
}

void SdmaQueue::timestamp(const sdma::Packet& packet) {
  // When profiling, ROCr has the engine stamp the signal before and after the copy. The copy's start is not known until its
  // completion signal is known; finish_work() then overwrites the time written here.
  const uint64_t time = std::max(latest_end_, dependencies_) + duration_;
  *device_.memory().at<uint64_t>(packet.qword(1)) = virtual_clock::to_timestamp(time);
}

void SdmaQueue::fail(const std::string& reason) const {
  report_error("%s; a copy engine cannot report errors to the program: aborting", reason.c_str());
  std::abort();
}

}  // namespace rpd
