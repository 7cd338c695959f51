#include "exec/null_observer.h"

#include <vector>

namespace rpd {
namespace {

class NullXcdObserver final : public XcdObserver {
 public:
  void begin(const DispatchedKernel&, uint32_t) override {}
  void launched(Workgroup&) override {}
  void issued(Wave&, std::span<const IssuedRun>) override {}
  void barrier_passed(Workgroup&) override {}
  void ended(const Wave&) override {}
  void vector_access(Wave&, const Op&, const VectorAccess&) override {}
  void scalar_access(Wave&, uint64_t, uint32_t) override {}
  void wait(Wave&, const WaitCounts&) override {}
  // Kernels that wait for time to pass must end at some point, so the clock advances with each instruction that the wave
  // executes and with each read of the clock.
  uint64_t clock(Wave& wave) override { return kCyclesPerInstruction * (wave.executed + ++reads_); }

 private:
  static constexpr uint64_t kCyclesPerInstruction = 4;
  uint64_t reads_ = 0;
};

class NullContextObserver final : public ContextObserver {
 public:
  explicit NullContextObserver(uint64_t dispatch_ns) : dispatch_ns_(dispatch_ns), xcds_(target::xcds()) {}
  XcdObserver& xcd(uint32_t index) override { return xcds_[index]; }
  void end(const DispatchedKernel&, DispatchResult& result) override { result.duration_alone_ns = dispatch_ns_; }
  void invalidate_caches() override {}

 private:
  uint64_t dispatch_ns_;
  std::vector<NullXcdObserver> xcds_;
};

class NullDeviceObserver final : public DeviceObserver {
 public:
  explicit NullDeviceObserver(uint64_t dispatch_ns) : dispatch_ns_(dispatch_ns) {}
  std::unique_ptr<ContextObserver> new_context() override { return std::make_unique<NullContextObserver>(dispatch_ns_); }
  void invalidate_caches() override {}
  void written_elsewhere(uint64_t, uint64_t) override {}

 private:
  uint64_t dispatch_ns_;
};

}  // namespace

std::unique_ptr<DeviceObserver> null_observer(uint64_t dispatch_ns) {
  return std::make_unique<NullDeviceObserver>(dispatch_ns);
}

}  // namespace rpd
