#include "timing/device_timing.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "exec/dispatched_kernel.h"
#include "timing/cause_experiment.h"
#include "timing/counters.h"
#include "timing/duration.h"
#include "timing/extrapolation.h"
#include "timing/mall_hits.h"
#include "timing/thread_trace/timeline.h"
#include "timing/work_done.h"
#include "timing/xcd_timing.h"

namespace rpd {
namespace {

// The smallest relative error that any estimate is given, since the observed XCDs may have something in common that the others
// lack. For counters that count a part of the waves' cycles, the error is relative to the total of these cycles.
constexpr double kMinError = 0.01;

class ContextTiming;
using Contexts = std::vector<ContextTiming*>;

// Computes the counters and times of one context's dispatches from the work of the context's XCDs.
class ContextTiming final : public ContextObserver {
 public:
  // `contexts`: all contexts of the device; this one adds itself to the list.
  ContextTiming(const TimingOptions& options, WarmCaches& warm, Contexts& contexts)
      : options_(options), warm_(warm), contexts_(contexts) {
    for (uint32_t i = 0; i < target::xcds(); ++i) xcds_.push_back(std::make_unique<XcdTiming>(i, options, warm.mall));
    contexts_.push_back(this);
  }
  ~ContextTiming() override { std::erase(contexts_, this); }

  XcdObserver& xcd(uint32_t index) override { return *xcds_[index]; }

  void end(const DispatchedKernel& kernel, DispatchResult& result) override {
    for (const auto& xcd : xcds_) xcd->end(kernel.request.releases);
    WrittenLines written;
    for (const auto& xcd : xcds_) written.add(xcd->memory_system().lines_written());
    for (ContextTiming* context : contexts_) context->written_by(*this, written);
    if (options_.flush_l2) invalidate_caches();
    if (!result.error.empty()) return;
    const MallLookUps look_ups = look_up_and_fill_mall(warm_.mall, done_by(xcds_));
    const InstructionCache instructions = warm_.instructions;
    const Xcds observed = observed_xcds();
    std::shared_ptr<Timeline> timeline = kernel.request.traced_cu ? std::make_shared<Timeline>() : nullptr;
    DurationParts parts;
    const Outcome outcome = timed(kernel, observed, look_ups, warm_.instructions, timeline.get(), timeline ? &parts : nullptr);
    result.duration_alone_ns = outcome.work.duration_ns;
    result.use = outcome.work.use;
    result.use.shares[DeviceUse::kSlots] = std::min(1.0, times_device_is_filled(kernel));
    result.counters = outcome.counters;
    if (timeline) timeline->note_unrecorded(xcds_[0]->thread_trace());
    result.timeline = timeline;
    if (timeline)
      result.causes =
          std::make_shared<CauseTimes>(experiment_with_causes(parts, times_device_is_filled(kernel), kernel.request.line_of));
    if (observed.size() < xcds_.size()) {
      estimate_sampling_errors(kernel, observed, look_ups, instructions, result);
      for (const auto& xcd : xcds_) xcd->sample_from_start();
    } else {
      estimate_errors_of_unknown_l2(result);
    }
  }

  void invalidate_caches() override {
    for (const auto& xcd : xcds_) xcd->invalidate_caches();
  }

  void written_elsewhere(uint64_t address, uint64_t bytes) {
    for (const auto& xcd : xcds_) xcd->memory_system().written_elsewhere(address, bytes);
  }

 private:
  using Xcds = std::vector<XcdTiming*>;
  struct Outcome {
    WorkDone work;
    std::vector<double> counters;
  };

  // The L2s are coherent: each drops the lines that another L2 has written.
  void written_by(const ContextTiming& other, const WrittenLines& written) {
    for (const auto& xcd : xcds_)
      xcd->memory_system().written_elsewhere(written, &other == this ? &xcd->memory_system() : nullptr);
  }

  template <class List>
  static std::vector<XcdWork> done_by(const List& xcds) {
    std::vector<XcdWork> done;
    for (const auto& xcd : xcds) done.push_back(xcd->work());
    return done;
  }

  Xcds observed_xcds() const {
    Xcds observed;
    for (const auto& xcd : xcds_)
      if (xcd->observed()) observed.push_back(xcd.get());
    return observed;
  }

  // Times the dispatch. Takes the work of the XCDs in `observed` as counted and estimates the work of the others from it.
  Outcome timed(const DispatchedKernel& kernel, const Xcds& observed, const MallLookUps& look_ups,
                InstructionCache& instructions, Timeline* timeline, DurationParts* parts = nullptr) const {
    const std::vector<XcdWork> counted = done_by(observed);
    std::deque<XcdEstimate> estimates;
    std::vector<XcdWork> done;
    for (const auto& xcd : xcds_) {
      done.push_back(xcd->work());
      if (std::ranges::find(observed, xcd.get()) != observed.end()) continue;
      const XcdEstimate& estimate = estimates.emplace_back(extrapolate(xcd->work(), counted));
      done.back().cus = &estimate.cus;
      done.back().memory = &estimate.memory;
    }
    std::optional<TracedCu> traced;
    if (timeline) traced.emplace(xcds_[0]->thread_trace(), *timeline);
    const WorkDone work =
        time_dispatch(done, recorded_cus(kernel, observed), look_ups, instructions, traced ? &*traced : nullptr, parts);
    return {work, counters(kernel, done, work)};
  }

  // Leaves out each observed XCD in turn to see how much the estimates depend on which XCDs are observed.
  void estimate_sampling_errors(const DispatchedKernel& kernel, const Xcds& observed, const MallLookUps& look_ups,
                                const InstructionCache& before, DispatchResult& result) const {
    std::vector<Outcome> outcomes;
    for (XcdTiming* left_out : observed) {
      Xcds others = observed;
      std::erase(others, left_out);
      InstructionCache instructions = before;
      outcomes.push_back(timed(kernel, others, look_ups, instructions, nullptr));
    }
    const auto error = [&](double total, auto value) {
      std::vector<double> values;
      for (const Outcome& outcome : outcomes) values.push_back(value(outcome));
      return kMinError * total + jackknife_error(values, xcds_.size());
    };
    const auto duration = static_cast<double>(result.duration_alone_ns);
    const auto ns = [](const Outcome& outcome) { return static_cast<double>(outcome.work.duration_ns); };
    result.duration_error = error(duration, ns) / duration;
    for (size_t i = 0; i < result.counters.size(); ++i) {
      const auto counter = [=](const Outcome& outcome) { return outcome.counters[i]; };
      const double total = is_part_of_wave_cycles(i) ? wave_cycles(result.counters) : result.counters[i];
      result.counter_errors.push_back(is_estimated(i) ? error(total, counter) : std::numeric_limits<double>::quiet_NaN());
    }
  }

  // The whole dispatch was observed, but what the L2s held beforehand is uncertain. `uncertain` accesses may have hit instead
  // of missing, or vice versa; the time is given the same relative error.
  void estimate_errors_of_unknown_l2(DispatchResult& result) const {
    uint64_t uncertain = 0, requests = 0;
    for (const auto& xcd : xcds_) {
      uncertain += xcd->memory_system().uncertain_look_ups();
      requests += xcd->memory().l2_hits + xcd->memory().l2_misses;
    }
    if (uncertain == 0) return;
    const double share = static_cast<double>(uncertain) / static_cast<double>(std::max(uncertain, requests));
    result.duration_error = share;
    for (size_t i = 0; i < result.counters.size(); ++i) {
      const double error = is_request(i) ? static_cast<double>(uncertain) : share * result.counters[i];
      result.counter_errors.push_back(depends_on_l2(i) ? error : std::numeric_limits<double>::quiet_NaN());
    }
  }

  // The recorded CU of the chosen XCD, followed by those of the other observed XCDs that have workgroups.
  std::vector<RecordedCu> recorded_cus(const DispatchedKernel& kernel, const Xcds& observed) const {
    const XcdTiming* chosen = xcds_[timed_xcd(kernel, options_.timed_cu)].get();
    const auto busy = static_cast<uint32_t>(std::min<uint64_t>(kernel.group_count(), target::xcds()));
    std::vector<RecordedCu> cus;
    for (XcdTiming* xcd : observed)
      if (xcd == chosen) cus.push_back(xcd->recorded_cu());
    for (XcdTiming* xcd : observed)
      if (xcd != chosen && xcd->index() < busy) cus.push_back(xcd->recorded_cu());
    return cus;
  }

  // The number of workgroups, divided by the number resident on the device at once.
  double times_device_is_filled(const DispatchedKernel& kernel) const {
    const uint64_t room = uint64_t{xcds_[0]->resident_groups()} * target::cus_per_xcd() * target::xcds();
    return static_cast<double>(kernel.group_count()) / static_cast<double>(std::max<uint64_t>(1, room));
  }

  std::vector<double> counters(const DispatchedKernel& kernel, const std::vector<XcdWork>& done, const WorkDone& work) const {
    std::vector<uint64_t> executed(kernel.program->op_count(), 0);
    MemoryCounts memory;
    WaveCounts waves;
    waves.workgroups = kernel.group_count();
    for (size_t i = 0; i < xcds_.size(); ++i) {
      memory.add(*done[i].memory);
      waves.add(xcds_[i]->waves());
      for (const CuWork& cu : *done[i].cus) waves.active_cus += cu.waves > 0;
      xcds_[i]->add_executed(executed);
    }
    return counter_values(*kernel.program, executed, memory, waves, work);
  }

  const TimingOptions& options_;
  WarmCaches& warm_;
  Contexts& contexts_;
  std::vector<std::unique_ptr<XcdTiming>> xcds_;
};

class DeviceTiming final : public DeviceObserver {
 public:
  explicit DeviceTiming(const TimingOptions& options) : options_(options) {}
  std::unique_ptr<ContextObserver> new_context() override {
    return std::make_unique<ContextTiming>(options_, warm_, contexts_);
  }
  void written_elsewhere(uint64_t address, uint64_t bytes) override {
    for (ContextTiming* context : contexts_) context->written_elsewhere(address, bytes);
  }
  void invalidate_caches() override {
    warm_.mall.clear();
    warm_.instructions.invalidate();
  }

 private:
  TimingOptions options_;
  WarmCaches warm_;
  Contexts contexts_;
};

}  // namespace

std::unique_ptr<DeviceObserver> device_timing(const TimingOptions& options) { return std::make_unique<DeviceTiming>(options); }

}  // namespace rpd
