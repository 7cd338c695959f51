#include "replay/steering.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace rpd::replay {
namespace {

constexpr uint64_t kGuard = 4096;  // the thunk leaves a page free on both sides [libhsakmt, fmm.c]

thread_local uint64_t steered_to = 0, steered_bytes = 0;

}  // namespace

Steering::Steering(uint64_t address, uint64_t bytes) { steered_to = address, steered_bytes = bytes; }
Steering::~Steering() { steered_to = 0; }

}  // namespace rpd::replay

// The program's own mmap comes before the C library's for all that is loaded into it.
extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  using namespace rpd::replay;
  if (steered_to != 0 && address == nullptr && rights == PROT_NONE && bytes >= steered_bytes) {
    const long got = syscall(SYS_mmap, steered_to - kGuard, bytes, rights, flags | MAP_FIXED_NOREPLACE, file, offset);
    if (got != -1) return reinterpret_cast<void*>(got);
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, rights, flags, file, offset));
}
