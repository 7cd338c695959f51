// Reads the segments of an ELF file that may be damaged in any way.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace rpd::capture {

// Reads `value` from a file's bytes at `offset`; returns false if `value` would extend beyond the end of the file.
template <class T>
bool read_at(std::span<const unsigned char> file, uint64_t offset, T& value) {
  if (offset > file.size() || sizeof(T) > file.size() - offset) return false;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return true;
}

// Returns nothing if this is not a 64-bit ELF file, or if its segment table is incomplete.
inline std::vector<Elf64_Phdr> elf_segments(std::span<const unsigned char> file) {
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  for (uint32_t i = 0; i < header.e_phnum; ++i)
    if (!read_at(file, header.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr), segments[i])) return {};
  return segments;
}

}  // namespace rpd::capture
