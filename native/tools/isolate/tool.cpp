// Entry points of the HSA tools library. ROCr calls OnLoad from hsa_init, before the program has created any queues.
#include <pthread.h>

#include <cstdlib>

#include "isolate/capture_dispatch.h"
#include "isolate/state.h"
#include "isolate/target.h"
#include "isolate/wrappers.h"

namespace rpd::isolate {
namespace {

std::optional<Settings>& chosen_settings() {
  static auto& settings = *new std::optional<Settings>;
  return settings;
}

// A forked child cannot use the GPU.
void on_fork_in_child() { watching.store(false); }

// Reports at exit if the chosen dispatch was never submitted.
void on_exit() {
  if (watching.exchange(false)) report_failure(describe_dispatches());
}

// Wraps hsa_shut_down, the last point at which ROCr still accepts calls.
hsa_status_t shut_down() {
  give_up_signals();
  return hsa.core.hsa_shut_down_fn();
}

void start(HsaApiTable* table) {
  hsa.core = *table->core_;
  hsa.amd = *table->amd_ext_;
  if (table->image_ext_ != nullptr) hsa.image = *table->image_ext_;
  watching.store(true);
  pthread_atfork(nullptr, nullptr, on_fork_in_child);
  std::atexit(on_exit);
  table->core_->hsa_shut_down_fn = shut_down;
  wrap_memory(table);
  wrap_code_objects(table);
  wrap_signals(table);
  wrap_copies(table);
  wrap_queues(table);
  wrap_failures(table);
}

}  // namespace

const Settings& settings() { return *chosen_settings(); }

}  // namespace rpd::isolate

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  using namespace rpd::isolate;
  static bool loaded = false;
  if (loaded) return true;
  loaded = true;
  chosen_settings() = settings_from_environment();
  if (chosen_settings()) start(table);
  return true;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() { rpd::isolate::watching.store(false); }
