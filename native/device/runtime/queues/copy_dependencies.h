// What the host knows about a copy on its submission but SDMA packets cannot express.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace rpd {

// ROCr emits no packet for a dependency that is already complete when it checks; in virtual time, that dependency may end only
// after the submission. So all dependencies are noted here, under the copy's completion signal.
class CopyDependencies {
 public:
  void submitted(hsa_signal_t completion, uint64_t submit_time, uint32_t count, const hsa_signal_t* dependencies);
  void withdraw(hsa_signal_t completion);
  // The earliest virtual time at which the copy that completes the signal can start; all its dependencies must be complete by
  // now. Returns 0 for a copy that was not noted. Forgets the copy.
  uint64_t take_ready_time(hsa_signal_t completion);

 private:
  struct Submission {
    uint64_t ready_time;
    std::vector<hsa_signal_t> pending;
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Submission> submissions_;  // by completion signal
};

// One object for all devices. Never destroyed: threads outlive static destructors.
CopyDependencies& copy_dependencies();

}  // namespace rpd
