// Entry points of the HSA tools library. ROCr calls OnLoad from hsa_init, before the application has created any queues.
#include <pthread.h>

#include <cstdlib>

#include "tracer/agents.h"
#include "tracer/collector.h"
#include "tracer/recorder.h"
#include "tracer/software_device.h"
#include "tracer/traced_process.h"
#include "tracer/wrappers.h"

namespace rpd::tracer {
namespace {

// How long dispatches that a program did not wait for may delay its exit.
constexpr uint64_t kDrainNs = 5'000'000'000;

// A forked child cannot use the GPU and must not touch its parent's spool and writer.
void on_fork_in_child() {
  recording.store(false);
  forget_writer();
}

void on_exit() {
  if (recording.load()) the_collector().drain(kDrainNs);
}

// Wraps hsa_shut_down, the last point at which ROCr still accepts calls; in OnUnload, it no longer does.
hsa_status_t shut_down() {
  if (recording.load()) {
    the_collector().collect();
    the_collector().give_up_signals();
  }
  return hsa.core.hsa_shut_down_fn();
}

void start(HsaApiTable* table) {
  hsa.core = *table->core_;
  hsa.amd = *table->amd_ext_;
  recording.store(true);
  pthread_atfork(nullptr, nullptr, on_fork_in_child);
  std::atexit(on_exit);

  record_process();
  record_agents();
  start_device_counters();
  the_collector().start();
  table->core_->hsa_shut_down_fn = shut_down;
  wrap_queues(table);
  wrap_copies(table);
  wrap_host_waits(table);
  wrap_code_objects(table);
  wrap_allocations(table);
}

}  // namespace
}  // namespace rpd::tracer

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  using namespace rpd::tracer;
  static bool loaded = false;
  const char* path = std::getenv("ROCM_PERF_TRACE");
  if (path == nullptr || *path == '\0' || loaded) return true;
  loaded = true;
  if (start_writer() && open_spool_for(path)) start(table);
  return true;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() {
  using namespace rpd::tracer;
  if (!recording.load()) return;
  the_collector().collect();
  the_collector().stop();
  recording.store(false);
}
