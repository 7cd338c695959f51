#include "runtime/profilers/registration.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "runtime/hooks/hooks.h"
#include "runtime/profilers/hip_tables.h"
#include "runtime/reports/log.h"

namespace rpd {
namespace {

// rocprofiler-sdk's, which rocprofiler-register calls for each library: its name, its version as a number of five digits, how
// many of its name there were before, and its tables.
using SetApiTable = int(const char* name, uint64_t version, uint64_t instance, void** tables, uint64_t count);

constexpr const char* kSdk = "librocprofiler-sdk.so.1";

uint64_t five_digits(uint64_t major, uint64_t minor) { return major * 10000 + minor * 100; }

bool a_tool_is_named() {
  const char* const named = std::getenv("ROCP_TOOL_LIBRARIES");
  return (named && *named) || dlsym(RTLD_DEFAULT, "rocprofiler_configure");
}

SetApiTable* set_api_table() {
  constexpr const char* name = "rocprofiler_set_api_table";
  if (void* const found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<SetApiTable*>(found);
  if (!a_tool_is_named()) return nullptr;
  void* const sdk = dlopen(kSdk, RTLD_LAZY | RTLD_GLOBAL);
  return sdk ? reinterpret_cast<SetApiTable*>(dlsym(sdk, name)) : nullptr;
}

// Builds with rocprofiler-register export this function.
bool registers_itself() { return dlsym(RTLD_DEFAULT, "rocprofiler_register_import_hsa"); }

uint64_t hsa_version() {
  uint16_t major = 0, minor = 0;
  original().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  original().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return five_digits(major, minor);
}

}  // namespace

void hand_tables_to_profiler(HsaApiTable* table) {
  SetApiTable* const set = set_api_table();
  if (!set || registers_itself()) return;
  void* hsa = table;
  const int refused = set("hsa", hsa_version(), 0, &hsa, 1);
  log_line("profiler: ROCr's table %s", refused ? "refused" : "handed over");
  const HipTables hip = find_hip_tables();
  void *runtime = hip.runtime, *compiler = hip.compiler;
  if (runtime) set("hip", hip.version, 0, &runtime, 1);
  if (compiler) set("hip_compiler", hip.version, 0, &compiler, 1);
  log_line("profiler: HIP's tables %s", runtime && compiler ? "handed over" : "not found");
}

}  // namespace rpd
