#include "isolate/code_objects.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "common/loader_info.h"
#include "isolate/kernel_filter.h"
#include "isolate/state.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<const LoadedKernel>> kernels;  // by kernel object
  std::map<uint64_t, std::shared_ptr<const LoadedObject>> objects;  // by load address
};

Registry& registry() {
  static Registry& registry = *new Registry;
  return registry;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return name;
}

std::shared_ptr<const std::vector<unsigned char>> bytes_of(hsa_loaded_code_object_t object) {
  using Bytes = std::vector<unsigned char>;
  const auto storage = info<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE);
  if (storage == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
    const auto base = info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
    const auto size = info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
    const auto* begin = reinterpret_cast<const unsigned char*>(base);
    return std::make_shared<Bytes>(begin, begin + size);
  }
  if (storage != HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE) return nullptr;
  const auto file = info<int>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE);
  const off_t size = lseek(file, 0, SEEK_END);
  if (size <= 0) return nullptr;
  auto bytes = std::make_shared<Bytes>(static_cast<size_t>(size));
  return pread(file, bytes->data(), bytes->size(), 0) == size ? bytes : nullptr;
}

struct Loading {
  std::shared_ptr<LoadedObject> object;
  std::vector<std::pair<uint64_t, LoadedKernel>> kernels{};
};

hsa_status_t on_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
  auto& loading = *static_cast<Loading*>(data);
  const capture::CodeObject& location = loading.object->location;
  const auto inside = [&](uint64_t address) { return address - location.load_base < location.load_bytes; };
  const auto type = info<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
  if (type == HSA_SYMBOL_KIND_VARIABLE) {
    const auto address = info<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
    const auto bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE);
    if (inside(address)) loading.object->variables.push_back({name_of(symbol), address, bytes});
  } else if (type == HSA_SYMBOL_KIND_KERNEL) {
    const auto object = info<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    if (!inside(object)) return HSA_STATUS_SUCCESS;  // in a different code object of the same executable
    LoadedKernel loaded;
    capture::Kernel& kernel = loaded.kernel;
    kernel.symbol = name_of(symbol);
    if (kernel.symbol.ends_with(".kd")) kernel.symbol.resize(kernel.symbol.size() - 3);
    kernel.name = demangled(kernel.symbol);
    kernel.kernarg_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
    kernel.group_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
    kernel.private_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
    loading.kernels.emplace_back(object, std::move(loaded));
  }
  return HSA_STATUS_SUCCESS;
}

// Asks about all kernels at once, because each question may involve a round trip to another process (see kernel_filter.h).
void note_wanted(Loading& loading) {
  std::vector<KernelNames> names;
  for (const auto& [address, loaded] : loading.kernels) names.push_back({loaded.kernel.symbol, loaded.kernel.name});
  const std::vector<bool> wanted = which_are_wanted(names);
  for (size_t i = 0; i < wanted.size(); ++i) loading.kernels[i].second.wanted = wanted[i];
}

hsa_status_t on_code_object(hsa_executable_t executable, hsa_loaded_code_object_t object, void*) {
  auto loaded = std::make_shared<LoadedObject>();
  loaded->executable = executable.handle;
  loaded->agent = info<hsa_agent_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT);
  loaded->location.load_base = info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
  loaded->location.load_bytes = info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
  loaded->location.load_delta = info<int64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA);
  loaded->location.uri = uri_of(object);
  Loading loading{loaded};
  hsa.core.hsa_executable_iterate_agent_symbols_fn(executable, loaded->agent, on_symbol, &loading);
  if (active()) note_wanted(loading);
  for (const auto& [address, kernel] : loading.kernels)
    if (kernel.wanted && !loaded->file) loaded->file = bytes_of(object);
  const std::lock_guard lock(registry().mutex);
  registry().objects[loaded->location.load_base] = loaded;
  for (auto& [address, kernel] : loading.kernels) {
    kernel.object = loaded;
    registry().kernels[address] = std::make_shared<LoadedKernel>(std::move(kernel));
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t freeze(hsa_executable_t executable, const char* options) {
  const hsa_status_t status = hsa.core.hsa_executable_freeze_fn(executable, options);
  if (status == HSA_STATUS_SUCCESS && hsa.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects != nullptr)
    hsa.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, on_code_object, nullptr);
  return status;
}

hsa_status_t destroy(hsa_executable_t executable) {
  {
    const std::lock_guard lock(registry().mutex);
    std::erase_if(registry().kernels, [&](const auto& entry) { return entry.second->object->executable == executable.handle; });
    std::erase_if(registry().objects, [&](const auto& entry) { return entry.second->executable == executable.handle; });
  }
  return hsa.core.hsa_executable_destroy_fn(executable);
}

}  // namespace

std::shared_ptr<const LoadedKernel> kernel_at(uint64_t kernel_object) {
  const std::lock_guard lock(registry().mutex);
  const auto entry = registry().kernels.find(kernel_object);
  return entry == registry().kernels.end() ? nullptr : entry->second;
}

std::vector<Source> loaded_code() {
  const std::lock_guard lock(registry().mutex);
  std::vector<Source> sources;
  for (const auto& [base, object] : registry().objects) {
    if (object->location.load_bytes == 0) continue;
    Source source;
    source.region.base = base & ~(capture::kPage - 1);
    source.region.bytes =
        ((base + object->location.load_bytes + capture::kPage - 1) & ~(capture::kPage - 1)) - source.region.base;
    source.region.kind = capture::Kind::code;
    source.region.allocations = {{base, object->location.load_bytes}};
    source.agent = object->agent;
    sources.push_back(std::move(source));
  }
  return sources;
}

void wrap_code_objects(HsaApiTable* table) {
  hsa.core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1, sizeof hsa.loader, &hsa.loader);
  table->core_->hsa_executable_freeze_fn = freeze;
  table->core_->hsa_executable_destroy_fn = destroy;
}

}  // namespace rpd::isolate
