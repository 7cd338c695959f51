#include "runtime/fast_open.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/log.h"

namespace rpd {
namespace {

using MemsetFunction = void* (*)(void*, int, size_t);

struct Slot {
  std::atomic<MemsetFunction>* address = nullptr;
  MemsetFunction original = nullptr;
  bool was_read_only = false;
};
Slot slot;

constexpr size_t kSuspiciousBytes = size_t{32} << 20;
// Cleared after all: writing the malloc header may have made a whole huge page resident.
constexpr size_t kClearedHead = size_t{4} << 20;

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void set_writable(void* address, bool writable) {
  const auto page = reinterpret_cast<uintptr_t>(address) & ~(page_size() - 1);
  mprotect(reinterpret_cast<void*>(page), page_size(), writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void restore() {
  slot.address->store(slot.original);
  if (slot.was_read_only) set_writable(slot.address, false);
}

// A chunk that malloc has just mapped: its data begins 16 bytes into a page, its size field says "mapped", and no
// page behind the head has been touched.
bool is_fresh_chunk(void* data, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % page_size() != 2 * sizeof(size_t)) return false;
  const size_t size_field = *(static_cast<size_t*>(data) - 1);
  constexpr size_t kIsMapped = 2, kFlags = 7;
  if (!(size_field & kIsMapped) || (size_field & ~kFlags) < size) return false;

  constexpr size_t kPagesAtOnce = 4096;
  unsigned char resident[kPagesAtOnce];
  auto* page = reinterpret_cast<char*>(address - address % page_size()) + kClearedHead;
  auto* end = static_cast<char*>(data) + size;
  while (page < end) {
    const size_t left = (static_cast<size_t>(end - page) + page_size() - 1) / page_size();
    const size_t pages = left < kPagesAtOnce ? left : kPagesAtOnce;
    if (mincore(page, pages * page_size(), resident) != 0) return false;
    for (size_t i = 0; i < pages; ++i)
      if (resident[i] & 1) return false;
    page += pages * page_size();
  }
  return true;
}

void* memset_once(void* data, int value, size_t size) {
  if (value != 0 || size < kSuspiciousBytes) return std::memset(data, value, size);
  restore();
  if (!is_fresh_chunk(data, size)) return std::memset(data, value, size);
  log_line("skipped clearing %zu bytes of fresh memory while the thunk opens", size);
  return std::memset(data, value, kClearedHead);
}

// The memset slot of a loaded library, or null.
void* find_slot(const dl_phdr_info& library, bool& read_only) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* relocations = nullptr;
  size_t bytes = 0;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr); break;
        case DT_STRTAB: names = reinterpret_cast<const char*>(entry->d_un.d_ptr); break;
        case DT_JMPREL: relocations = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: bytes = entry->d_un.d_val; break;
      }
    }
  }
  if (!symbols || !names || !relocations) return nullptr;
  for (size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    if (ELF64_R_TYPE(relocations[i].r_info) != R_X86_64_JUMP_SLOT) continue;
    if (std::strcmp(names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, "memset") != 0) continue;
    const uintptr_t offset = relocations[i].r_offset;
    for (int k = 0; k < library.dlpi_phnum; ++k) {
      const auto& segment = library.dlpi_phdr[k];
      if (segment.p_type == PT_GNU_RELRO && offset >= segment.p_vaddr && offset < segment.p_vaddr + segment.p_memsz)
        read_only = true;
    }
    return reinterpret_cast<void*>(library.dlpi_addr + offset);
  }
  return nullptr;
}

int replace_in_rocr(dl_phdr_info* library, size_t, void*) {
  if (!library->dlpi_name || !std::strstr(library->dlpi_name, "libhsa-runtime64.so")) return 0;
  if (void* address = find_slot(*library, slot.was_read_only)) {
    slot.address = static_cast<std::atomic<MemsetFunction>*>(address);
    if (slot.was_read_only) set_writable(address, true);
    slot.original = slot.address->exchange(memset_once);
  }
  return 1;
}

}  // namespace

void avoid_slow_open() {
#if defined(__x86_64__) && defined(__GLIBC__)
  if (!slot.address) dl_iterate_phdr(replace_in_rocr, nullptr);
#endif
}

}  // namespace rpd
