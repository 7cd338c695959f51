#include "exec/memory_guard.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <algorithm>
#include <cstring>

#include "exec/dispatched_kernel.h"

namespace rpd {
namespace {

constexpr uint64_t kPacketBytes = 64;
constexpr uint64_t kMaxScalarLoadBytes = 64;  // the largest scalar load, whose last bytes may lie past the arguments

AccessWindow common(AccessWindow a, AccessWindow b) {
  const uint64_t begin = std::max(a.begin, b.begin), end = std::min(a.begin + a.size, b.begin + b.size);
  return begin < end ? AccessWindow{begin, end - begin} : AccessWindow{};
}

// Whether an argument points into the window. HIP's own kernels are passed pointers to patterns stored among the arguments.
bool points_into(const DispatchedKernel& kernel, AccessWindow window) {
  const uint64_t bytes = kernel.descriptor.kernarg_size, begin = kernel.request.kernarg_address;
  if (bytes == 0 || !kernel.memory->allows(begin, bytes, false)) return false;
  for (uint64_t offset = 0; offset + sizeof(uint64_t) <= bytes; offset += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, kernel.memory->at(begin + offset), sizeof value);
    if (window.holds(value, 1)) return true;
  }
  return false;
}

}  // namespace

void MemoryGuard::begin(const DispatchedKernel& kernel) {
  request_ = kernel.request;
  argument_bytes_ = kernel.descriptor.kernarg_size;
  arguments_ = memory_.allocation_around(request_.kernarg_address);
  if (points_into(kernel, arguments_)) arguments_ = {};
  reads_packet_ = kernel.descriptor.has(KernelDescriptor::kDispatchPtr);
  reads_queue_ = kernel.descriptor.has(KernelDescriptor::kQueuePtr);
}

AccessWindow MemoryGuard::pinned(uint64_t address, uint32_t bytes, AccessWindow mapped) const {
  AccessWindow window = memory_.pages(address);
  while (window.size && !window.holds(address, bytes)) {
    const AccessWindow next = memory_.pages(window.begin + window.size);
    if (next.size == 0) break;
    window.size = next.begin + next.size - window.begin;
  }
  return common(window, mapped);
}

AccessWindow MemoryGuard::readable(uint64_t address, AccessWindow mapped) const {
  const AccessWindow readable[] = {
      {request_.kernarg_address, (argument_bytes_ + kMaxScalarLoadBytes - 1) / kMaxScalarLoadBytes * kMaxScalarLoadBytes},
      {request_.packet_address, reads_packet_ ? kPacketBytes : 0},
      {request_.queue_address, reads_queue_ ? sizeof(amd_queue_v2_t) : 0},
  };
  for (const AccessWindow& window : readable) {
    if (window.holds(address, 1)) return common(window, mapped);
  }
  return without_arguments(common(memory_.readable(address), mapped), address);
}

AccessWindow MemoryGuard::writable(uint64_t address, AccessWindow mapped) const {
  return without_arguments(common(memory_.writable(address), mapped), address);
}

// Excludes from the window both the arguments and the whole piece of memory around them, because HIP keeps the arguments of
// many dispatches in a single piece of ordinary memory.
AccessWindow MemoryGuard::without_arguments(AccessWindow window, uint64_t address) const {
  if (window.size == 0) return window;
  window = without(window, address, request_.kernarg_address, argument_bytes_);
  return window.size == 0 ? window : without(window, address, arguments_.begin, arguments_.size);
}

std::string MemoryGuard::describe(uint64_t address) const {
  const auto in = [address](uint64_t begin, uint64_t bytes) { return begin != 0 && address - begin < bytes; };
  if (in(request_.completion_signal, sizeof(amd_signal_t))) return "the completion signal of its dispatch";
  if (in(request_.packet_address, kPacketBytes)) return "the packet of its dispatch";
  if (in(request_.ring_address, request_.ring_bytes)) return "the ring of its queue";
  if (in(request_.queue_address, sizeof(amd_queue_v2_t))) return "its queue";
  if (in(request_.kernarg_address, argument_bytes_)) return "the arguments of its dispatch";
  if (in(arguments_.begin, arguments_.size)) return "memory of kernel arguments";
  const std::string description = memory_.describe(address);
  return description.empty() ? "memory of the runtime or of the host" : description;
}

}  // namespace rpd
