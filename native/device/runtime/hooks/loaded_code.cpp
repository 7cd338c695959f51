#include "runtime/hooks/loaded_code.h"

#include <mutex>
#include <stdexcept>
#include <vector>

#include "runtime/reports/log.h"

namespace rpd {
namespace {

std::mutex mutex;
std::vector<std::shared_ptr<const LoadedCode>>& loaded() {
  static auto* list = new std::vector<std::shared_ptr<const LoadedCode>>;  // dispatches may run until the process ends
  return *list;
}

// Returns null for an invalid code object, and for one that was loaded from a file, since its bytes are not in memory; HIP
// never loads code objects that way.
std::shared_ptr<const CodeObject> read_object(hsa_loaded_code_object_t object) {
  if (code_info<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE) !=
      HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
    return nullptr;
  }
  const auto base = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
  const auto size = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
  if (base == 0 || size == 0) return nullptr;
  try {
    return std::make_shared<CodeObject>(std::span(reinterpret_cast<const char*>(base), size));
  } catch (const std::runtime_error& failure) {
    report_error("thread trace: %s", failure.what());
    return nullptr;
  }
}

hsa_status_t remember(hsa_executable_t, hsa_loaded_code_object_t object, void*) {
  auto code = std::make_shared<LoadedCode>();
  code->base = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
  code->size = code_info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
  code->delta = code_info<int64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA);
  code->object = read_object(object);
  const std::lock_guard lock(mutex);
  code->number = loaded().size() + 1;
  loaded().push_back(std::move(code));
  return HSA_STATUS_SUCCESS;
}

}  // namespace

const hsa_ven_amd_loader_1_03_pfn_t& code_loader() {
  static const hsa_ven_amd_loader_1_03_pfn_t table = [] {
    hsa_ven_amd_loader_1_03_pfn_t loader{};
    original().core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader);
    return loader;
  }();
  return table;
}

std::shared_ptr<const LoadedCode> loaded_code_at(uint64_t address) {
  const std::lock_guard lock(mutex);
  // The most recently loaded ones are searched first, because the memory of an unloaded code object can be reused.
  for (auto code = loaded().rbegin(); code != loaded().rend(); ++code) {
    if (address - (*code)->base < (*code)->size) return *code;
  }
  return nullptr;
}

void remember_code(hsa_executable_t executable) {
  if (const auto iterate = code_loader().hsa_ven_amd_loader_executable_iterate_loaded_code_objects)
    iterate(executable, remember, nullptr);
}

}  // namespace rpd
