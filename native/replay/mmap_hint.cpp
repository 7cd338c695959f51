#include "replay/mmap_hint.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace rpd::replay {
namespace {

constexpr uint64_t kGuard = 4096;  // the thunk leaves one page free on each side [libhsakmt, fmm.c]

constexpr uint64_t kMinSvmRange = 4ull << 30;  // [libhsakmt, fmm.c: SVM_MIN_VM_SIZE]
constexpr uint64_t kHugePage = 2 << 20;

std::atomic<uint64_t> svm_floor{0};

thread_local uint64_t steered_to = 0, steered_bytes = 0;

}  // namespace

MmapHint::MmapHint(uint64_t address, uint64_t bytes) { steered_to = address, steered_bytes = bytes; }
MmapHint::~MmapHint() { steered_to = 0; }

void start_svm_range_above(uint64_t end) { svm_floor.store((end + kHugePage - 1) & ~(kHugePage - 1)); }

}  // namespace rpd::replay

// If a program defines mmap, every library loaded into the program uses that definition instead of the C library's.
extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int rights, int flags, int file,
                                                             off_t offset) noexcept {
  using namespace rpd::replay;
  if (steered_to != 0 && address == nullptr && rights == PROT_NONE && bytes >= steered_bytes) {
    const long mapping = syscall(SYS_mmap, steered_to - kGuard, bytes, rights, flags | MAP_FIXED_NOREPLACE, file, offset);
    if (mapping != -1) return reinterpret_cast<void*>(mapping);
  }
  const uint64_t floor = svm_floor.load(std::memory_order_relaxed);
  if (address != nullptr && reinterpret_cast<uint64_t>(address) < floor && rights == PROT_NONE && bytes >= kMinSvmRange &&
      !(flags & MAP_FIXED)) {
    const long mapping = syscall(SYS_mmap, floor, bytes, rights, flags | MAP_FIXED_NOREPLACE, file, offset);
    if (mapping != -1) return reinterpret_cast<void*>(mapping);
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, rights, flags, file, offset));
}
