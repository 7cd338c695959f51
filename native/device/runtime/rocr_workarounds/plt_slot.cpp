#include "runtime/rocr_workarounds/plt_slot.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rpd {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
#endif

struct Search {
  const char* library;
  const char* function;
  void* slot = nullptr;
  bool read_only = false;
};

struct LinkageTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  size_t count = 0;
};

LinkageTable linkage_table(const dl_phdr_info& library) {
  LinkageTable table;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto address = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB: table.symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
        case DT_STRTAB: table.names = reinterpret_cast<const char*>(address); break;
        case DT_JMPREL: table.relocations = reinterpret_cast<const ElfW(Rela)*>(address); break;
        case DT_PLTRELSZ: table.count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
      }
    }
  }
  if (!table.symbols || !table.names || !table.relocations) table.count = 0;
  return table;
}

bool is_read_only(const dl_phdr_info& library, uintptr_t offset) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& segment = library.dlpi_phdr[i];
    if (segment.p_type == PT_GNU_RELRO && offset - segment.p_vaddr < segment.p_memsz) return true;
  }
  return false;
}

int search_library(dl_phdr_info* library, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!library->dlpi_name || !std::strstr(library->dlpi_name, search.library)) return 0;
  const LinkageTable table = linkage_table(*library);
  for (size_t i = 0; i < table.count; ++i) {
    const auto& relocation = table.relocations[i];
    if (ELF64_R_TYPE(relocation.r_info) != kJumpSlot) continue;
    if (std::strcmp(table.names + table.symbols[ELF64_R_SYM(relocation.r_info)].st_name, search.function) != 0) continue;
    search.slot = reinterpret_cast<void*>(library->dlpi_addr + relocation.r_offset);
    search.read_only = is_read_only(*library, relocation.r_offset);
    return 1;
  }
  return 0;
}

}  // namespace

void* replace_plt_slot(const char* library, const char* function, void* replacement) {
  Search search{library, function};
  dl_iterate_phdr(search_library, &search);
  if (!search.slot) return nullptr;
  if (search.read_only) {
    const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto page = reinterpret_cast<uintptr_t>(search.slot) & ~(page_size - 1);
    if (mprotect(reinterpret_cast<void*>(page), page_size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  }
  return static_cast<std::atomic<void*>*>(search.slot)->exchange(replacement);
}

}  // namespace rpd
