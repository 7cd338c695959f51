#include "isa/loaded_segments.h"

#include <elf.h>

#include <cstring>

namespace rpd {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxSegments = 64;

// The segment that holds `address` in a code object that begins at `base`; nothing if there is no such segment.
std::optional<LoadedSegment> segment_of(const AddressSpace& memory, const AccessWindow& mapped, uint64_t base,
                                        uint64_t address) {
  Elf64_Ehdr header;
  if (!mapped.holds(base, sizeof header)) return {};
  std::memcpy(&header, memory.at<char>(base), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxSegments || header.e_phoff > mapped.size) return {};
  const uint64_t table = base + header.e_phoff;
  if (!mapped.holds(table, header.e_phnum * sizeof(Elf64_Phdr))) return {};
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, memory.at<char>(table + i * sizeof segment), sizeof segment);
    const LoadedSegment loaded{base + segment.p_vaddr, base + segment.p_vaddr + segment.p_memsz, (segment.p_flags & PF_X) != 0};
    if (segment.p_type == PT_LOAD && loaded.holds(address)) return loaded;
  }
  return {};
}

}  // namespace

std::optional<LoadedSegment> loaded_segment(const AddressSpace& memory, uint64_t address) {
  const AccessWindow mapped = memory.window(address, false);
  std::optional<LoadedSegment> best;
  if (!mapped.holds(address, 1)) return best;
  for (uint64_t page = address / kPage * kPage; page >= mapped.begin; page -= kPage) {
    const auto segment = segment_of(memory, mapped, page, address);
    if (segment && (!best || !segment->executable)) best = segment;
    if ((best && !best->executable) || page < kPage) break;
  }
  return best;
}

}  // namespace rpd
