// A pool in which a tool keeps its own completion signals for reuse. A signal on which a thread may sleep can raise an
// interrupt. A signal that is only polled (for a dispatch whose completion no thread waits for) is created without an interrupt
// and so costs the device nothing.
#pragma once

#include <mutex>
#include <vector>

#include "common/hsa.h"

namespace rpd {

class SignalPool {
 public:
  explicit SignalPool(uint64_t attributes) : attributes_(attributes) {}

  // A signal with the value 1; its handle is 0 if ROCr has no more signals.
  hsa_signal_t take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        const hsa_signal_t signal = free_.back();
        free_.pop_back();
        return signal;
      }
    }
    hsa_signal_t signal{0};
    const hsa_status_t status = hsa.amd.hsa_amd_signal_create_fn(1, 0, nullptr, attributes_, &signal);
    return status == HSA_STATUS_SUCCESS ? signal : hsa_signal_t{0};
  }

  void give_back(hsa_signal_t signal) {
    amd_signal_t* const memory = memory_of(signal);
    memory->start_ts = memory->end_ts = 0;
    __atomic_store_n(&memory->value, 1, __ATOMIC_RELEASE);
    std::lock_guard lock(mutex_);
    free_.push_back(signal);
  }

  void destroy_all() {
    std::lock_guard lock(mutex_);
    for (const hsa_signal_t signal : free_) hsa.core.hsa_signal_destroy_fn(signal);
    free_.clear();
  }

 private:
  const uint64_t attributes_;
  std::mutex mutex_;
  std::vector<hsa_signal_t> free_;
};

}  // namespace rpd
