// OnLoad and OnUnload, which ROCr calls in every HSA tools library.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "runtime/device.h"
#include "runtime/hooks/handlers_at_exit.h"
#include "runtime/hooks/hooks.h"
#include "runtime/queues/signals.h"
#include "runtime/reports/log.h"
#include "runtime/rocr_workarounds/thunk_workarounds.h"
#include "runtime/virtual_clock.h"

namespace rpd {

OriginalTables& original() {
  static OriginalTables tables;
  return tables;
}

// Unless told otherwise, AMD's ROCr ignores HSA_TOOLS_LIB if rocprofiler-register has given its table to a tool.
void expect_hooks() {
  static std::atomic<bool> said{false};
  if (original().core.version.major_id != 0 || said.exchange(true)) return;
  report_error(
      "ROCr has not loaded the device as a tools library: modelled times ignore the host. HSA_TOOLS_LIB must "
      "name it; if a profiler has registered with ROCr, also set HSA_TOOLS_ROCPROFILER_V1_TOOLS=1");
}

namespace {

// A signal whose event no thread waits for (see EventWakeups).
hsa_signal_t spare_signal{};

// Newer versions of ROCr have longer tables and older versions shorter ones; each table begins with its size.
template <class Table>
void copy_table(Table& to, const Table& from) {
  std::memcpy(static_cast<void*>(&to), &from, std::min<size_t>(sizeof to, from.version.minor_id));
}

void open_wakeups() {
  if (original().core.hsa_signal_create_fn(1, 0, nullptr, &spare_signal) != HSA_STATUS_SUCCESS) return;
  const uint32_t event = reinterpret_cast<const amd_signal_t*>(spare_signal.handle)->event_id;
  for (Device* device : devices()) device->wakeups().open(event);
}

// The number of times the program has initialised the runtime minus the number of times it has shut it down. The first
// initialisation loads this library.
std::atomic<int> initialisations{0};

void close_wakeups() {
  for (Device* device : devices()) device->wakeups().close();
  if (spare_signal.handle) original().core.hsa_signal_destroy_fn(spare_signal);
  spare_signal = {};
}

hsa_status_t init() {
  ++initialisations;
  return original().core.hsa_init_fn();
}

// Hands the table to the profiler if the process contains one: see preload/registration.cpp.
void serve_profiler(HsaApiTable* table) {
  void* const hand_over = dlsym(RTLD_DEFAULT, "rocm_perf_hand_over_hsa");
  if (hand_over) reinterpret_cast<void (*)(HsaApiTable*)>(hand_over)(table);
}

// OnUnload would be too late to destroy a signal: by then the runtime is considered shut down and reports a leak.
hsa_status_t shut_down() {
  if (--initialisations == 0) {
    close_wakeups();
    handlers_at_exit::forget_all();
  }
  const QueueDestruction destruction;
  return original().core.hsa_shut_down_fn();
}

}  // namespace
}  // namespace rpd

extern "C" [[gnu::visibility("default")]] bool OnLoad(HsaApiTable* table, uint64_t /*runtime_version*/,
                                                      uint64_t /*failed_tool_count*/,
                                                      const char* const* /*failed_tool_names*/) {
  using namespace rpd;
  if (devices().empty()) {
    report_error("loaded as a tools library, but not as the device: set HSA_MODEL_LIB and HSA_MODEL_TOPOLOGY too");
    return false;
  }
  if (table->core_->version.major_id != HSA_CORE_API_TABLE_MAJOR_VERSION ||
      table->amd_ext_->version.major_id != HSA_AMD_EXT_API_TABLE_MAJOR_VERSION ||
      table->amd_ext_->version.minor_id < offsetof(AmdExtTable, hsa_amd_signal_wait_all_fn)) {
    report_error("this ROCr's tools interface is not the version the device was built for; times will be wrong");
    return false;
  }
  on_node_count_set();
  copy_table(original().core, *table->core_);
  copy_table(original().amd, *table->amd_ext_);
  virtual_clock::set_main_thread();
  open_wakeups();
  initialisations = 1;
  table->core_->hsa_init_fn = init;
  table->core_->hsa_shut_down_fn = shut_down;
  hook_signals(*table->core_, *table->amd_ext_);
  hook_queues(*table->core_, *table->amd_ext_);
  hook_agents(*table->core_);
  hook_copies(*table->amd_ext_);
  hook_memory(*table->core_, *table->amd_ext_);
  hook_virtual_memory(*table->amd_ext_);
  hook_managed_memory(*table->amd_ext_);
  hook_ipc_memory(*table->amd_ext_);
  hook_times(*table->amd_ext_);
  hook_executables(*table->core_);
  serve_profiler(table);
  return true;
}

extern "C" [[gnu::visibility("default")]] void OnUnload() { rpd::close_wakeups(); }
