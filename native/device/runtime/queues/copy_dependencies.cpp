#include "runtime/queues/copy_dependencies.h"

#include <algorithm>

#include "runtime/queues/signals.h"

namespace rpd {
namespace {

// Signals are in host memory, and a handle is the signal's host address.
const amd_signal_t& on_host(hsa_signal_t signal) { return *reinterpret_cast<const amd_signal_t*>(signal.handle); }

}  // namespace

void CopyDependencies::submitted(hsa_signal_t completion, uint64_t submit_time, uint32_t count,
                                 const hsa_signal_t* dependencies) {
  if (completion.handle == 0) return;
  Submission submission{submit_time, {}};
  for (uint32_t i = 0; i < count; ++i) {
    if (dependencies[i].handle == 0) continue;
    if (load_value(on_host(dependencies[i])) == 0)
      submission.ready_time = std::max(submission.ready_time, completion_time(on_host(dependencies[i])));
    else submission.pending.push_back(dependencies[i]);
  }
  std::lock_guard lock(mutex_);
  submissions_[completion.handle] = std::move(submission);
}

void CopyDependencies::withdraw(hsa_signal_t completion) {
  std::lock_guard lock(mutex_);
  submissions_.erase(completion.handle);
}

uint64_t CopyDependencies::take_ready_time(hsa_signal_t completion) {
  std::unique_lock lock(mutex_);
  auto entry = submissions_.find(completion.handle);
  if (entry == submissions_.end()) return 0;
  const Submission submission = std::move(entry->second);
  submissions_.erase(entry);
  lock.unlock();
  uint64_t time = submission.ready_time;
  for (const hsa_signal_t signal : submission.pending) time = std::max(time, completion_time(on_host(signal)));
  return time;
}

CopyDependencies& copy_dependencies() {
  static auto* dependencies = new CopyDependencies;
  return *dependencies;
}

}  // namespace rpd
