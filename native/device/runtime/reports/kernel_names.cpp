#include "runtime/reports/kernel_names.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/hooks/hooks.h"
#include "runtime/hooks/loaded_code.h"
#include "runtime/hooks/memory_declarations.h"
#include "runtime/reports/thread_trace.h"

namespace rpd {
namespace {

std::mutex mutex;
std::unordered_map<uint64_t, std::string>& names() {
  static auto* map = new std::unordered_map<uint64_t, std::string>;  // queues may ask for a name until the very end
  return *map;
}

hsa_status_t remember(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void*) {
  const auto get = original().core.hsa_executable_symbol_get_info_fn;
  hsa_symbol_kind_t kind;
  uint32_t length = 0;
  uint64_t object = 0;
  if (get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) || kind != HSA_SYMBOL_KIND_KERNEL ||
      get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length) ||
      get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object)) {
    return HSA_STATUS_SUCCESS;
  }
  std::string name(length, '\0');
  if (get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data())) return HSA_STATUS_SUCCESS;
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  const std::lock_guard lock(mutex);
  names()[object] = std::move(name);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t remember_kernels_of(hsa_agent_t agent, void* executable) {
  original().core.hsa_executable_iterate_agent_symbols_fn(*static_cast<hsa_executable_t*>(executable), agent, remember,
                                                          nullptr);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t freeze(hsa_executable_t executable, const char* options) {
  const hsa_status_t status = original().core.hsa_executable_freeze_fn(executable, options);
  if (status != HSA_STATUS_SUCCESS) return status;
  original().core.hsa_iterate_agents_fn(remember_kernels_of, &executable);
  own_variables_of(executable);
  if (are_thread_traces_requested()) remember_code(executable);
  return status;
}

hsa_status_t destroy(hsa_executable_t executable) {
  disown_variables_of(executable);
  return original().core.hsa_executable_destroy_fn(executable);
}

}  // namespace

std::string demangled_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? text.get() : symbol;
}

std::string kernel_symbol(uint64_t kernel_object) {
  const std::lock_guard lock(mutex);
  const auto entry = names().find(kernel_object);
  return entry != names().end() ? entry->second : "";
}

std::string kernel_name(uint64_t kernel_object) {
  if (const std::string symbol = kernel_symbol(kernel_object); !symbol.empty()) return "kernel " + demangled_name(symbol);
  char text[48];
  std::snprintf(text, sizeof text, "kernel at 0x%lx", kernel_object);
  return text;
}

void hook_executables(CoreApiTable& core) {
  core.hsa_executable_freeze_fn = freeze;
  core.hsa_executable_destroy_fn = destroy;
}

}  // namespace rpd
