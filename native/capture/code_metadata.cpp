#include "capture/code_metadata.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "capture/elf_segments.h"

namespace rpd::capture {
namespace {

using nlohmann::json;

constexpr uint16_t kMachineAmdGpu = 224;  // EM_AMDGPU
constexpr uint32_t kMetadataNote = 32;    // NT_AMDGPU_METADATA

uint64_t padded(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }

// The contents of the metadata note among `notes`; empty if there is none.
std::span<const unsigned char> note_in(std::span<const unsigned char> notes) {
  uint64_t offset = 0;
  Elf64_Nhdr header{};
  while (read_at(notes, offset, header)) {
    const uint64_t name = offset + sizeof header, description = name + padded(header.n_namesz);
    if (description > notes.size() || header.n_descsz > notes.size() - description) return {};
    if (header.n_type == kMetadataNote && header.n_namesz == 7 && std::memcmp(notes.data() + name, "AMDGPU", 7) == 0)
      return notes.subspan(description, header.n_descsz);
    offset = description + padded(header.n_descsz);
  }
  return {};
}

std::span<const unsigned char> metadata_note(std::span<const unsigned char> file) {
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || header.e_machine != kMachineAmdGpu) return {};
  for (const Elf64_Phdr& segment : elf_segments(file)) {
    if (segment.p_type != PT_NOTE || segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset)
      continue;
    const auto note = note_in(file.subspan(segment.p_offset, segment.p_filesz));
    if (!note.empty()) return note;
  }
  return {};
}

KernelMetadata kernel_from(const json& object) {
  KernelMetadata kernel;
  kernel.symbol = object.at(".symbol").get<std::string>();
  if (kernel.symbol.ends_with(".kd")) kernel.symbol.resize(kernel.symbol.size() - 3);
  kernel.kernarg_bytes = object.at(".kernarg_segment_size").get<uint32_t>();
  kernel.group_bytes = object.at(".group_segment_fixed_size").get<uint32_t>();
  kernel.private_bytes = object.at(".private_segment_fixed_size").get<uint32_t>();
  kernel.max_workgroup_items = object.value(".max_flat_workgroup_size", 1024u);
  kernel.required_workgroup = object.value(".reqd_workgroup_size", std::vector<uint32_t>{});
  kernel.dynamic_stack = object.value(".uses_dynamic_stack", false);
  for (const json& argument : object.value(".args", json::array()))
    kernel.arguments.push_back({argument.at(".offset").get<uint32_t>(), argument.at(".size").get<uint32_t>(),
                                argument.at(".value_kind").get<std::string>()});
  return kernel;
}

}  // namespace

const KernelMetadata* CodeMetadata::find(const std::string& symbol) const {
  for (const KernelMetadata& kernel : kernels)
    if (kernel.symbol == symbol) return &kernel;
  return nullptr;
}

std::optional<CodeMetadata> code_metadata(std::span<const unsigned char> file) {
  const auto note = metadata_note(file);
  if (note.empty()) return {};
  try {
    const json root = json::from_msgpack(note.begin(), note.end());
    CodeMetadata metadata;
    metadata.target = root.value("amdhsa.target", "");
    for (const json& kernel : root.at("amdhsa.kernels")) metadata.kernels.push_back(kernel_from(kernel));
    return metadata;
  } catch (const std::exception&) {  // json's own exceptions, and failed allocations for absurd lengths
    return {};
  }
}

}  // namespace rpd::capture
