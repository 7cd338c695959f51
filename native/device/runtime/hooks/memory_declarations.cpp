#include "runtime/hooks/memory_declarations.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "capture/elf_segments.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/loaded_code.h"

namespace rpd {

WritableMemory& writable_memory() {
  static auto* memory = new WritableMemory;
  return *memory;
}

// Declares which segments of a loaded code object the program may write to and which it may not. Constants are in read-only
// segments, but HIP copies data into them with a kernel of its own, so they are treated like all other variables.
namespace {

struct LoadedVariables {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::vector<uint64_t>> ranges;  // start addresses, by executable
};

LoadedVariables& loaded() {
  static auto* list = new LoadedVariables;
  return *list;
}

std::vector<unsigned char> file_of(hsa_loaded_code_object_t object) {
  const auto storage = code_info<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE);
  if (storage == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
    const auto base = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
    const auto size = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
    const auto* bytes = reinterpret_cast<const unsigned char*>(base);
    return {bytes, bytes + size};
  }
  if (storage != HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE) return {};
  const auto file = code_info<int>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE);
  const off_t size = lseek(file, 0, SEEK_END);
  std::vector<unsigned char> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  if (pread(file, bytes.data(), bytes.size(), 0) != size) bytes.clear();
  return bytes;
}

using Variables = std::map<uint64_t, uint64_t>;  // size by address

hsa_status_t take_variable(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* variables) {
  const auto get = original().core.hsa_executable_symbol_get_info_fn;
  hsa_symbol_kind_t kind{};
  uint64_t address = 0;
  uint32_t size = 0;
  if (get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) == HSA_STATUS_SUCCESS && kind == HSA_SYMBOL_KIND_VARIABLE &&
      get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address) == HSA_STATUS_SUCCESS &&
      get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size) == HSA_STATUS_SUCCESS)
    (*static_cast<Variables*>(variables))[address] = size;
  return HSA_STATUS_SUCCESS;
}

// Forbids writes to everything in [begin, end) except the variables.
void protect(uint64_t begin, uint64_t end, const Variables& variables, std::vector<uint64_t>& declared) {
  const auto bar_until = [&](uint64_t until) {
    if (until > begin) writable_memory().protect(begin, until - begin, "loaded code", true), declared.push_back(begin);
  };
  for (auto variable = variables.lower_bound(begin); variable != variables.end() && variable->first < end; ++variable) {
    bar_until(variable->first);
    writable_memory().add(variable->first, variable->second), declared.push_back(variable->first);
    begin = variable->first + variable->second;
  }
  bar_until(end);
}

hsa_status_t own(hsa_executable_t executable, hsa_loaded_code_object_t object, void*) {
  const auto delta = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA);
  Variables variables;
  const auto agent = code_info<hsa_agent_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT);
  original().core.hsa_executable_iterate_agent_symbols_fn(executable, agent, take_variable, &variables);
  const std::lock_guard lock(loaded().mutex);
  std::vector<uint64_t>& declared = loaded().ranges[executable.handle];
  for (const Elf64_Phdr& segment : capture::elf_segments(file_of(object))) {
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t begin = delta + segment.p_vaddr;
    if (segment.p_flags & PF_W) writable_memory().add(begin, segment.p_memsz), declared.push_back(begin);
    else protect(begin, begin + segment.p_memsz, variables, declared);
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

void own_variables_of(hsa_executable_t executable) {
  if (const auto iterate = code_loader().hsa_ven_amd_loader_executable_iterate_loaded_code_objects)
    iterate(executable, own, nullptr);
}

void disown_variables_of(hsa_executable_t executable) {
  const std::lock_guard lock(loaded().mutex);
  const auto node = loaded().ranges.extract(executable.handle);
  if (!node) return;
  for (const uint64_t begin : node.mapped()) writable_memory().remove(begin), writable_memory().unprotect(begin);
}

}  // namespace rpd
