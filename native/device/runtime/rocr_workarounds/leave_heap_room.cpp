#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

constexpr uint64_t kReservation = uint64_t{1} << 30;  // from this size on, a mapping without access rights is a reservation
constexpr uint64_t kRoom = uint64_t{64} << 30;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kAperture = uint64_t{256} << 30;

// Affects only programs that are linked at a fixed address: in other programs, the heap is far above the reserved addresses.
void* above_heap(void* hint) {
  const auto heap_end = reinterpret_cast<uint64_t>(sbrk(0));
  if (heap_end + kRoom > kAperture / 2) return hint;
  const uint64_t after_heap = (heap_end + kRoom) & ~(kHugePage - 1);
  return reinterpret_cast<void*>(std::max(reinterpret_cast<uint64_t>(hint), after_heap));
}

void* roomy_mmap(void* hint, size_t size, int rights, int flags, int file, off_t offset) {
  const bool reserves = hint && size >= kReservation && rights == PROT_NONE && file == -1 && !(flags & MAP_FIXED);
  return mmap(reserves ? above_heap(hint) : hint, size, rights, flags, file, offset);
}

}  // namespace

void leave_heap_room() {
  static const bool replaced = replace_plt_slot("libhsa-runtime64.so", "mmap", reinterpret_cast<void*>(roomy_mmap)) != nullptr;
  if (!replaced) log_line("the heap of a program at a fixed address cannot grow");
}

}  // namespace rpd
