#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

constexpr char kRocr[] = "libhsa-runtime64.so";
constexpr size_t kSuspiciousBytes = size_t{32} << 20;

std::atomic<void*> original_memset{nullptr};
std::atomic<void*> original_calloc{nullptr};

void restore(const char* function, std::atomic<void*>& original) {
  if (void* before = original.exchange(nullptr)) replace_plt_slot(kRocr, function, before);
}

// Whether malloc has mapped this memory separately: its data then begins 16 bytes into a page, and a flag in its size field is
// set.
bool is_mapped_chunk(const void* data, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) != 2 * sizeof(size_t)) return false;
  const size_t size_field = *(static_cast<const size_t*>(data) - 1);
  constexpr size_t kIsMapped = 2, kFlags = 7;
  return (size_field & kIsMapped) && (size_field & ~kFlags) >= size;
}

// Clears the memory by replacing its pages with new ones, which take up no memory until they are written to and do not count
// towards the memory limit when the program forks. Returns false if that fails.
bool renew_pages(void* data, size_t size) {
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data), end = begin + size;
  const uintptr_t first = (begin + page_size - 1) / page_size * page_size, last = end / page_size * page_size;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(reinterpret_cast<void*>(first), last - first, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return false;
  std::memset(data, 0, first - begin);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
  return true;
}

void* clear_first_array(void* data, int value, size_t size) {
  if (value != 0 || size < kSuspiciousBytes) return std::memset(data, value, size);
  restore("memset", original_memset);
  if (!is_mapped_chunk(data, size) || !renew_pages(data, size)) return std::memset(data, value, size);
  log_line("%zu bytes of the thunk's memory were cleared without touching them", size);
  return data;
}

void* refuse_second_array(size_t count, size_t size) {
  if (size == 0 || count < kSuspiciousBytes / size) {
    // Another workaround may already have put its function into the slot; that function also has to see the calls.
    const auto before = reinterpret_cast<void* (*)(size_t, size_t)>(original_calloc.load());
    return before ? before(count, size) : std::calloc(count, size);
  }
  restore("calloc", original_calloc);
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

void survive_unset_node_count() {
  original_memset = replace_plt_slot(kRocr, "memset", reinterpret_cast<void*>(clear_first_array));
  original_calloc = replace_plt_slot(kRocr, "calloc", reinterpret_cast<void*>(refuse_second_array));
}

void on_node_count_set() {
  restore("memset", original_memset);
  restore("calloc", original_calloc);
}

}  // namespace rpd
