// Hands the API tables of ROCr and HIP to a profiler that is built on AMD's rocprofiler-sdk, such as rocprofv3.
//
// AMD's builds of ROCr and HIP do so themselves, through rocprofiler-register. Debian's builds lack it, so without this file a
// profiler would see nothing of what the program does.
#include <dlfcn.h>
#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "preload/hip_tables.h"
#include "preload/visible.h"

namespace rpd::preload {
namespace {

// A function of rocprofiler-sdk that rocprofiler-register calls for each library. It passes the library's name, its version as
// a five-digit number, the number of earlier libraries with this name, and the library's tables.
using SetApiTable = int(const char* name, uint64_t version, uint64_t instance, void** tables, uint64_t count);

constexpr const char* kSdk = "librocprofiler-sdk.so.1";

bool a_tool_is_named() {
  const char* const named = std::getenv("ROCP_TOOL_LIBRARIES");
  return (named && *named) || dlsym(RTLD_DEFAULT, "rocprofiler_configure");
}

SetApiTable* find_profiler() {
  constexpr const char* name = "rocprofiler_set_api_table";
  if (void* const symbol = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<SetApiTable*>(symbol);
  if (!a_tool_is_named()) return nullptr;
  void* const sdk = dlopen(kSdk, RTLD_LAZY | RTLD_GLOBAL);
  return sdk ? reinterpret_cast<SetApiTable*>(dlsym(sdk, name)) : nullptr;
}

// The profiler in this process; null if there is none.
SetApiTable* profiler() {
  static SetApiTable* const function = find_profiler();
  return function;
}

// Whether the library was built with rocprofiler-register: if so, it exports a function named `import`.
bool registers_itself(void* library, const char* import) { return dlsym(library, import); }

void hand_over_hip(const HipTables& hip) {
  if (!hip.runtime || !hip.compiler || registers_itself(hip.library, "rocprofiler_register_import_hip")) return;
  void *runtime = hip.runtime, *compiler = hip.compiler;
  profiler()("hip", hip.version, 0, &runtime, 1);
  profiler()("hip_compiler", hip.version, 0, &compiler, 1);
}

// Hands over HIP's tables, once, if HIP is loaded and there is a profiler.
void hand_over_hip() {
  static std::once_flag done;
  if (!profiler()) return;
  const HipTables hip = find_hip_tables();
  if (hip.library) std::call_once(done, [&] { hand_over_hip(hip); });
}

// The function that the library containing `caller` would have called if this library were not preloaded. A process can have
// several HIP libraries.
void* as_linked(const void* caller, const char* function) {
  Dl_info library;
  void* const handle = dladdr(caller, &library) ? dlopen(library.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  void* const symbol = handle ? dlsym(handle, function) : nullptr;
  return symbol ? symbol : dlsym(RTLD_NEXT, function);  // the executable has no library handle to search
}

uint64_t hsa_version(const CoreApiTable& core) {
  uint16_t major = 0, minor = 0;
  core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return uint64_t{major} * 10000 + uint64_t{minor} * 100;
}

}  // namespace
}  // namespace rpd::preload

// Called by the device when ROCr has loaded it as a tools library.
RPD_VISIBLE void rocm_perf_hand_over_hsa(HsaApiTable* table) {
  using namespace rpd::preload;
  if (!profiler() || registers_itself(RTLD_DEFAULT, "rocprofiler_register_import_hsa")) return;
  void* hsa = table;
  profiler()("hsa", hsa_version(*table->core_), 0, &hsa, 1);
  hand_over_hip();  // needed if the program has not registered any code
}

// Programs that contain kernels call this before main(), and so before any other HIP function.
RPD_VISIBLE void** __hipRegisterFatBinary(const void* binary) {
  rpd::preload::hand_over_hip();
  using Register = void**(const void*);
  void* const original = rpd::preload::as_linked(__builtin_return_address(0), "__hipRegisterFatBinary");
  return original ? reinterpret_cast<Register*>(original)(binary) : nullptr;
}
