#include "replay/code.h"

#include <algorithm>
#include <cstring>

#include "capture/elf_segments.h"
#include "replay/launch.h"

namespace rpd::replay {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw UnfitCodeError(why); }

std::string name_of(hsa_executable_symbol_t symbol) {
  uint32_t length = 0;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
  std::string name(length, '\0');
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
  return name;
}

template <class T>
T info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute) {
  T value{};
  hsa_executable_symbol_get_info(symbol, attribute, &value);
  return value;
}

// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" -> "gfx942"
std::string processor(const std::string& target) {
  const std::string last = target.substr(target.rfind("--") == std::string::npos ? 0 : target.rfind("--") + 2);
  return last.substr(0, last.find(':'));
}

bool is_hidden(const capture::KernelArgument& argument) { return argument.kind.starts_with("hidden_"); }

// Checks what ROCr's loader takes for granted about a file that starts with the ELF magic number: that its tables and segments
// are complete. Returns a description of the damage, or an empty string.
std::string damage_of(std::span<const unsigned char> file) {
  Elf64_Ehdr header{};
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) return "";
  const auto reaches = [&](uint64_t offset, uint64_t bytes) { return offset <= file.size() && bytes <= file.size() - offset; };
  if (!capture::read_at(file, 0, header)) return "it ends inside its header";
  if (!reaches(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return "its segment table extends beyond the end of the file";
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return "the entries of its segment table have the wrong size";
  if (!reaches(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
    return "its section table extends beyond the end of the file";
  for (const Elf64_Phdr& segment : capture::elf_segments(file))
    if (segment.p_type != PT_GNU_STACK && !reaches(segment.p_offset, segment.p_filesz)) return "part of a segment is missing";
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    capture::read_at(file, header.e_shoff + uint64_t{i} * sizeof section, section);
    if (section.sh_type != SHT_NOBITS && !reaches(section.sh_offset, section.sh_size)) return "part of a section is missing";
  }
  return "";
}

// The captured argument bytes have the captured kernel's layout. A kernel has only the hidden arguments that it uses. A
// replacement may have fewer, but it must not need any that were not captured and cannot be derived from the packet either.
// Returns whether the replacement takes arguments that were not captured.
bool check_arguments(const capture::KernelMetadata& captured, const capture::KernelMetadata& replacement) {
  std::vector<capture::KernelArgument> before, after;
  std::copy_if(captured.arguments.begin(), captured.arguments.end(), std::back_inserter(before),
               [](auto& a) { return !is_hidden(a); });
  std::copy_if(replacement.arguments.begin(), replacement.arguments.end(), std::back_inserter(after),
               [](auto& a) { return !is_hidden(a); });
  if (before != after)
    refuse("its arguments differ from the captured kernel's (" + std::to_string(after.size()) + " instead of " +
           std::to_string(before.size()) + ", or different ones at the same offset)");
  bool more = false;
  for (const capture::KernelArgument& argument : replacement.arguments) {
    if (!is_hidden(argument) ||
        std::find(captured.arguments.begin(), captured.arguments.end(), argument) != captured.arguments.end())
      continue;
    if (!is_derived(argument)) refuse("it needs the hidden argument " + argument.kind + ", which was not captured");
    more = true;
  }
  if (!more && replacement.kernarg_bytes > captured.kernarg_bytes)
    refuse("it takes " + std::to_string(replacement.kernarg_bytes) + " bytes of arguments, and " +
           std::to_string(captured.kernarg_bytes) + " were captured");
  return more;
}

void check_workgroup(const capture::Packet& packet, const capture::KernelMetadata& kernel) {
  const uint32_t items = packet.workgroup[0] * packet.workgroup[1] * packet.workgroup[2];
  if (items > kernel.max_workgroup_items)
    refuse("it was compiled for workgroups of " + std::to_string(kernel.max_workgroup_items) +
           " work-items at most, but the launch has " + std::to_string(items));
  if (kernel.required_workgroup.size() == 3 &&
      !std::equal(packet.workgroup.begin(), packet.workgroup.end(), kernel.required_workgroup.begin()))
    refuse("it requires a workgroup size different from the launch's");
}

}  // namespace

ReplacementFit fit_replacement(const capture::Dispatch& dispatch, std::span<const unsigned char> captured,
                               std::span<const unsigned char> replacement) {
  if (const std::string damage = damage_of(replacement); !damage.empty()) refuse("it is damaged: " + damage);
  const auto now = capture::code_metadata(replacement);
  if (!now) refuse("it is not an AMD GPU code object");
  if (processor(now->target) != processor(dispatch.origin.isa))
    refuse("it is for " + processor(now->target) + ", but the capture is for " + processor(dispatch.origin.isa));
  const capture::KernelMetadata* kernel = now->find(dispatch.kernel.symbol);
  if (kernel == nullptr) refuse("it has no kernel " + dispatch.kernel.symbol);
  check_workgroup(dispatch.packet, *kernel);
  const auto then = capture::code_metadata(captured);
  const capture::KernelMetadata* original = then ? then->find(dispatch.kernel.symbol) : nullptr;
  ReplacementFit fit;
  fit.kernel = *kernel;
  if (original != nullptr) fit.has_uncaptured_arguments = check_arguments(*original, *kernel);
  if (original == nullptr && kernel->kernarg_bytes != dispatch.kernel.kernarg_bytes)
    refuse("it takes " + std::to_string(kernel->kernarg_bytes) + " bytes of arguments, and " +
           std::to_string(dispatch.kernel.kernarg_bytes) + " were captured");

  const uint32_t dynamic = dynamic_lds_of(dispatch), limit = max_group_bytes(dispatch);
  if (uint64_t{kernel->group_bytes} + dynamic > limit)
    refuse("it needs " + std::to_string(uint64_t{kernel->group_bytes} + dynamic) + " bytes of LDS, but there are " +
           std::to_string(limit));
  fit.group_bytes = kernel->group_bytes + dynamic;
  fit.private_bytes =
      kernel->dynamic_stack ? std::max(kernel->private_bytes, dispatch.packet.private_bytes) : kernel->private_bytes;
  return fit;
}

LoadedCode::LoadedCode(hsa_agent_t agent, std::span<const unsigned char> file, const std::string& symbol)
    : wanted_(symbol + ".kd") {
  const auto check = [&](hsa_status_t status, const char* operation) {
    if (status == HSA_STATUS_SUCCESS) return;
    const char* text = nullptr;
    hsa_status_string(status, &text);
    refuse(std::string("ROCr refuses it: ") + operation + ": " + (text != nullptr ? text : "unknown error"));
  };
  check(hsa_code_object_reader_create_from_memory(file.data(), file.size(), &reader_), "reading");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_),
        "creating an executable");
  check(hsa_executable_load_agent_code_object(executable_, agent, reader_, nullptr, nullptr), "loading");
  check(hsa_executable_freeze(executable_, nullptr), "freezing");
  hsa_executable_iterate_agent_symbols(executable_, agent, on_symbol, this);
  if (kernel_object_ == 0) refuse("it has no kernel " + symbol);
}

hsa_status_t LoadedCode::on_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
  auto& self = *static_cast<LoadedCode*>(data);
  const std::string name = name_of(symbol);
  const auto type = info<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
  if (type == HSA_SYMBOL_KIND_KERNEL && name == self.wanted_)
    self.kernel_object_ = info<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  if (type == HSA_SYMBOL_KIND_VARIABLE)
    self.variables_.push_back({name, info<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS),
                               info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE)});
  return HSA_STATUS_SUCCESS;
}

LoadedCode::~LoadedCode() {
  if (executable_.handle != 0) hsa_executable_destroy(executable_);
  if (reader_.handle != 0) hsa_code_object_reader_destroy(reader_);
}

}  // namespace rpd::replay
