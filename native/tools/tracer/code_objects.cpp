// Records code objects and their kernels when an executable is frozen: from then on its kernels can be dispatched.
#include <atomic>
#include <cstring>
#include <string>

#include "common/loader_info.h"
#include "tracer/agents.h"
#include "tracer/kernel_registers.h"
#include "tracer/recorder.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

std::atomic<uint64_t> code_objects{0}, kernels{0};

struct LoadedCodeObject {
  uint64_t id;
  hsa_agent_t agent;
  uint64_t base, size;

  bool contains(uint64_t address) const { return address - base < size; }
};

void record_kernel(hsa_executable_symbol_t symbol, const LoadedCodeObject& loaded) {
  spool::Kernel kernel{};
  kernel.kernel_object = info<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  if (!loaded.contains(kernel.kernel_object)) return;  // in a different code object of the same executable
  kernel.kernel_id = ++kernels;
  kernel.code_object_id = loaded.id;
  kernel.kernarg_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
  kernel.kernarg_alignment = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT);
  kernel.group_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
  kernel.private_bytes = info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);

  const void* host = nullptr;
  const auto* device = reinterpret_cast<const void*>(kernel.kernel_object);
  if (hsa.loader.hsa_ven_amd_loader_query_host_address(device, &host) == HSA_STATUS_SUCCESS && host != nullptr) {
    KernelDescriptor descriptor;
    std::memcpy(&descriptor, host, sizeof descriptor);
    const KernelRegisters registers = kernel_registers(descriptor, isa_name_of(loaded.agent));
    kernel.entry_offset = descriptor.entry_offset;
    kernel.sgprs = registers.sgprs;
    kernel.arch_vgprs = registers.arch_vgprs;
    kernel.accum_vgprs = registers.accum_vgprs;
  }
  record(spool::Kind::kernel, kernel, {name_of(symbol)});
}

hsa_status_t on_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
  if (info<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE) == HSA_SYMBOL_KIND_KERNEL)
    record_kernel(symbol, *static_cast<const LoadedCodeObject*>(data));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_code_object(hsa_executable_t executable, hsa_loaded_code_object_t object, void*) {
  const auto agent = info<hsa_agent_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT);
  LoadedCodeObject loaded{++code_objects, agent, info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE),
                          info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE)};
  spool::CodeObject record_of_object{};
  record_of_object.code_object_id = loaded.id;
  record_of_object.agent_handle = agent.handle;
  record_of_object.node_id = node_of(agent);
  record_of_object.load_base = loaded.base;
  record_of_object.load_size = loaded.size;
  record_of_object.load_delta = info<int64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA);
  record_of_object.storage_type = info<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE);
  if (record_of_object.storage_type == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
    record_of_object.memory_base =
        info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
    record_of_object.memory_size =
        info<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
  }
  record(spool::Kind::code_object, record_of_object, {uri_of(object)});
  hsa.core.hsa_executable_iterate_agent_symbols_fn(executable, agent, on_symbol, &loaded);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t freeze(hsa_executable_t executable, const char* options) {
  const hsa_status_t status = hsa.core.hsa_executable_freeze_fn(executable, options);
  if (status == HSA_STATUS_SUCCESS && recording.load() &&
      hsa.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects != nullptr)
    hsa.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, on_code_object, nullptr);
  return status;
}

}  // namespace

void wrap_code_objects(HsaApiTable* table) {
  hsa.core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1, sizeof hsa.loader, &hsa.loader);
  table->core_->hsa_executable_freeze_fn = freeze;
}

}  // namespace rpd::tracer
