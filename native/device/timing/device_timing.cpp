#include "timing/device_timing.h"

#include <algorithm>
#include <vector>

#include "timing/counters.h"
#include "timing/duration.h"
#include "timing/thread_trace/timeline.h"
#include "timing/xcd_timing.h"

namespace rpd {
namespace {

class DispatchTiming;
using Slots = std::vector<DispatchTiming*>;

// Sums up the work of the XCDs of one slot.
class DispatchTiming final : public DispatchObserver {
 public:
  // `slots`: all slots of the device; this one enters itself.
  DispatchTiming(const TimingOptions& options, WarmCaches& warm, Slots& slots) : options_(options), warm_(warm), slots_(slots) {
    for (uint32_t i = 0; i < target::xcds(); ++i) xcds_.push_back(std::make_unique<XcdTiming>(i, options.timed_cu, warm.mall));
    slots_.push_back(this);
  }
  ~DispatchTiming() override { std::erase(slots_, this); }

  XcdObserver& xcd(uint32_t index) override { return *xcds_[index]; }

  void end(const Kernel& kernel, DispatchResult& result) override {
    for (const auto& xcd : xcds_) xcd->end(kernel.request.releases);
    WrittenLines written;
    for (const auto& xcd : xcds_) written.add(xcd->memory_system().lines_written());
    for (DispatchTiming* slot : slots_) slot->written_by(*this, written);
    if (options_.flush_l2) forget_caches();
    if (!result.error.empty()) return;
    const WorkDone work = timed(kernel, result);
    result.duration_ns = work.duration_ns;
    result.use = work.use;
    result.use.shares[DeviceUse::kSlots] = used_slots(kernel);
    result.counters = counted(kernel, work);
  }

  void forget_caches() override {
    for (const auto& xcd : xcds_) xcd->forget_caches();
  }

  void written_elsewhere(uint64_t address, uint64_t bytes) {
    for (const auto& xcd : xcds_) xcd->memory_system().written_elsewhere(address, bytes);
  }

 private:
  // The L2s are coherent: one drops what another one has written.
  void written_by(const DispatchTiming& other, const WrittenLines& written) {
    for (const auto& xcd : xcds_)
      xcd->memory_system().written_elsewhere(written, &other == this ? &xcd->memory_system() : nullptr);
  }

  WorkDone timed(const Kernel& kernel, DispatchResult& result) {
    std::vector<XcdWork> done;
    for (const auto& xcd : xcds_) done.push_back(xcd->work());
    const std::vector<Sample> samples = recorded(kernel);
    if (!kernel.request.traced_cu) return time_dispatch(done, samples, warm_);
    const auto timeline = std::make_shared<Timeline>();
    const CuTrace& trace = xcds_[0]->thread_trace();
    const WatchedCu watched{trace, *timeline};
    const WorkDone work = time_dispatch(done, samples, warm_, &watched);
    timeline->note_losses(trace);
    result.timeline = timeline;
    return work;
  }

  // Of the chosen XCD, then of the others that have workgroups.
  std::vector<Sample> recorded(const Kernel& kernel) {
    const uint32_t chosen = timed_xcd(kernel, options_.timed_cu);
    const auto busy = static_cast<uint32_t>(std::min<uint64_t>(kernel.group_count(), target::xcds()));
    std::vector<Sample> samples{xcds_[chosen]->sample()};
    for (uint32_t i = 0; i < busy; ++i) {
      if (i != chosen) samples.push_back(xcds_[i]->sample());
    }
    return samples;
  }

  // Share of the room for such workgroups.
  double used_slots(const Kernel& kernel) const {
    const uint64_t room = uint64_t{xcds_[0]->resident_groups()} * target::kCusPerXcd * target::xcds();
    return std::min(1.0, static_cast<double>(kernel.group_count()) / static_cast<double>(std::max<uint64_t>(1, room)));
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

  const TimingOptions& options_;
  WarmCaches& warm_;
  Slots& slots_;
  std::vector<std::unique_ptr<XcdTiming>> xcds_;
};

class DeviceTiming final : public DeviceObserver {
 public:
  explicit DeviceTiming(const TimingOptions& options) : options_(options) {}
  std::unique_ptr<DispatchObserver> new_slot() override { return std::make_unique<DispatchTiming>(options_, warm_, slots_); }
  void written_elsewhere(uint64_t address, uint64_t bytes) override {
    for (DispatchTiming* slot : slots_) slot->written_elsewhere(address, bytes);
  }
  void forget_caches() override {
    warm_.mall.clear();
    warm_.instructions.invalidate();
  }

 private:
  TimingOptions options_;
  WarmCaches warm_;
  Slots slots_;
};

}  // namespace

std::unique_ptr<DeviceObserver> device_timing(const TimingOptions& options) { return std::make_unique<DeviceTiming>(options); }

}  // namespace rpd
