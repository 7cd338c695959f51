#include "exec/write_guard.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <algorithm>

#include "exec/workgroup.h"

namespace rpd {
namespace {

constexpr uint64_t kPacketBytes = 64;

AccessWindow common(AccessWindow a, AccessWindow b) {
  const uint64_t begin = std::max(a.begin, b.begin), end = std::min(a.begin + a.size, b.begin + b.size);
  return begin < end ? AccessWindow{begin, end - begin} : AccessWindow{};
}

}  // namespace

void WriteGuard::begin(const Kernel& kernel) {
  request_ = kernel.request;
  argument_bytes_ = kernel.descriptor.kernarg_size;
}

AccessWindow WriteGuard::window(uint64_t address, AccessWindow mapped) const {
  const AccessWindow own = common(memory_.window(address), mapped);
  return own.size == 0 ? own : without(own, address, request_.kernarg_address, argument_bytes_);
}

std::string WriteGuard::describe(uint64_t address) const {
  const auto in = [address](uint64_t begin, uint64_t bytes) { return begin != 0 && address - begin < bytes; };
  if (in(request_.completion_signal, sizeof(amd_signal_t))) return "the completion signal of its dispatch";
  if (in(request_.packet_address, kPacketBytes)) return "the packet of its dispatch";
  if (in(request_.ring_address, request_.ring_bytes)) return "the ring of its queue";
  if (in(request_.queue_address, sizeof(amd_queue_v2_t))) return "its queue";
  if (in(request_.kernarg_address, argument_bytes_)) return "the arguments of its dispatch";
  const std::string known = memory_.describe(address);
  return known.empty() ? "memory of the runtime or of the host" : known;
}

}  // namespace rpd
