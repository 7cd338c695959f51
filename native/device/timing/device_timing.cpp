#include "timing/device_timing.h"

#include <vector>

#include "timing/counters.h"
#include "timing/duration.h"
#include "timing/thread_trace/timeline.h"
#include "timing/xcd_timing.h"

namespace rpd {
namespace {

// Sums up the work of the XCDs of one slot.
class DispatchTiming final : public DispatchObserver {
 public:
  DispatchTiming(uint64_t choice, WarmCaches& warm) : choice_(choice), warm_(warm) {
    for (uint32_t i = 0; i < target::kXcds; ++i) xcds_.push_back(std::make_unique<XcdTiming>(i, choice));
  }

  XcdObserver& xcd(uint32_t index) override { return *xcds_[index]; }

  void end(const Kernel& kernel, DispatchResult& result) override {
    for (const auto& xcd : xcds_) xcd->end(kernel.request.releases);
    if (!result.error.empty()) return;
    const WorkDone work = timed(kernel, result);
    result.duration_ns = work.duration_ns;
    result.counters = counted(kernel, work);
  }

  void forget_caches() override {
    for (const auto& xcd : xcds_) xcd->forget_caches();
  }

 private:
  WorkDone timed(const Kernel& kernel, DispatchResult& result) {
    std::vector<XcdWork> done;
    for (const auto& xcd : xcds_) done.push_back(xcd->work());
    const Sample sample = xcds_[timed_cu(kernel, choice_).xcd]->sample();
    if (!kernel.request.traced_cu) return time_dispatch(done, sample, warm_);
    const auto timeline = std::make_shared<Timeline>();
    const CuTrace& trace = xcds_[0]->thread_trace();
    const WatchedCu watched{trace, *timeline};
    const WorkDone work = time_dispatch(done, sample, warm_, &watched);
    timeline->note_losses(trace);
    result.timeline = timeline;
    return work;
  }

  std::vector<double> counted(const Kernel& kernel, const WorkDone& work) const {
    std::vector<uint64_t> executed(kernel.program->op_count(), 0);
    MemoryCounts memory;
    WaveCounts waves;
    for (const auto& xcd : xcds_) {
      memory.add(xcd->memory());
      waves.add(xcd->waves());
      for (const CuWork& cu : *xcd->work().cus) waves.active_cus += cu.waves > 0;
      xcd->add_executed(executed);
    }
    return counter_values(*kernel.program, executed, memory, waves, work);
  }

  uint64_t choice_;
  WarmCaches& warm_;
  std::vector<std::unique_ptr<XcdTiming>> xcds_;
};

class DeviceTiming final : public DeviceObserver {
 public:
  explicit DeviceTiming(uint64_t choice) : choice_(choice) {}
  std::unique_ptr<DispatchObserver> new_slot() override { return std::make_unique<DispatchTiming>(choice_, warm_); }
  void forget_caches() override {
    warm_.mall.clear();
    warm_.instructions.invalidate();
  }

 private:
  uint64_t choice_;  // of the timed CU
  WarmCaches warm_;
};

}  // namespace

std::unique_ptr<DeviceObserver> device_timing(uint64_t timed_cu) { return std::make_unique<DeviceTiming>(timed_cu); }

}  // namespace rpd
