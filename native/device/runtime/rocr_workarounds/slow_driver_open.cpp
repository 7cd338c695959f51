#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/plt_slot.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"

namespace rpd {
namespace {

constexpr char kRocr[] = "libhsa-runtime64.so";
constexpr size_t kSuspiciousBytes = size_t{32} << 20;
// Cleared nevertheless: writing the malloc header may have made a whole huge page resident.
constexpr size_t kClearedHead = size_t{4} << 20;

std::atomic<void*> original_memset{nullptr};

// Whether this is a chunk that malloc has just mapped: its data begins 16 bytes into a page, its size field says "mapped",
// and no page after the head has been touched.
bool is_fresh_chunk(void* data, size_t size) {
  const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % page_size != 2 * sizeof(size_t)) return false;
  const size_t size_field = *(static_cast<size_t*>(data) - 1);
  constexpr size_t kIsMapped = 2, kFlags = 7;
  if (!(size_field & kIsMapped) || (size_field & ~kFlags) < size) return false;

  constexpr size_t kPagesAtOnce = 4096;
  unsigned char resident[kPagesAtOnce];
  auto* page = reinterpret_cast<char*>(address - address % page_size) + kClearedHead;
  auto* end = static_cast<char*>(data) + size;
  while (page < end) {
    const size_t left = (static_cast<size_t>(end - page) + page_size - 1) / page_size;
    const size_t pages = left < kPagesAtOnce ? left : kPagesAtOnce;
    if (mincore(page, pages * page_size, resident) != 0) return false;
    for (size_t i = 0; i < pages; ++i)
      if (resident[i] & 1) return false;
    page += pages * page_size;
  }
  return true;
}

// Replaces memset until the first large clearing.
void* memset_once(void* data, int value, size_t size) {
  if (value != 0 || size < kSuspiciousBytes) return std::memset(data, value, size);
  if (void* original = original_memset.exchange(nullptr)) replace_plt_slot(kRocr, "memset", original);
  if (!is_fresh_chunk(data, size)) return std::memset(data, value, size);
  log_line("skipped clearing %zu bytes of fresh memory while the thunk opens", size);
  return std::memset(data, value, kClearedHead);
}

}  // namespace

void avoid_slow_driver_open() {
  static const bool replaced = [] {
    original_memset = replace_plt_slot(kRocr, "memset", reinterpret_cast<void*>(memset_once));
    return original_memset != nullptr;
  }();
  (void)replaced;
}

}  // namespace rpd
