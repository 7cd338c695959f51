#include "runtime/queues/performance_monitor.h"

#include <cmath>
#include <iterator>
#include <string_view>

#include "isa/target.h"
#include "timing/counters.h"

namespace rpd {
namespace {

constexpr uint32_t kGfxIndex = 0xc200;        // GRBM_GFX_INDEX
constexpr uint32_t kPerfmonControl = 0xd808;  // CP_PERFMON_CNTL

constexpr uint32_t kInstanceMask = 0xff;
constexpr uint32_t kEngineShift = 16;
constexpr uint32_t kEngineMask = 0xff;
constexpr uint32_t kAllInstances = 1u << 30;
constexpr uint32_t kAllEngines = 1u << 31;

constexpr uint32_t kStateMask = 0xf;
enum State : uint32_t { kReset = 0, kCount = 1 };

constexpr std::string_view kSq = "SQ";
constexpr uint32_t kWaveLevel = 5;       // SQ_LEVEL_WAVES of gfx9: the number of waves
constexpr uint32_t kCoarseLevelSum = 1;  // SQ_ACCUM_PREV of gfx9: the sum, in quad-cycles

// The part of the device to which each instance of a block belongs.
enum class Extent : uint8_t { Xcc, Engine, Cu, L2Channel };

uint64_t units_per_xcc(Extent extent) {
  switch (extent) {
    case Extent::Engine: return target::shader_engines_per_xcd();
    case Extent::Cu: return target::cus_per_xcd();
    case Extent::L2Channel: return target_of_device().l2_channels_per_xcd;
    default: return 1;
  }
}

// The part of `sum` that unit number `unit` gets if it is divided evenly among `units` units; all parts add up to the sum.
uint64_t share(uint64_t sum, uint64_t unit, uint64_t units) { return sum * (unit + 1) / units - sum * unit / units; }

}  // namespace

struct PerformanceMonitor::Block {
  std::string_view name;
  Extent extent;
  uint32_t counters;
  uint32_t selects[8];  // the register that selects the event of each counter
  uint32_t event_mask;
  uint32_t counts[8];   // the register that holds the lower half of each counter; the upper half is the next register, ...
  bool upper_first = false;  // ... or the one before it
};

struct PerformanceMonitor::Counter {
  const Block* block;
  uint32_t number;
  bool upper_half = false;

  static const Block kBlocks[];
  static std::optional<Counter> selected_by(uint32_t address);
  static std::optional<Counter> held_by(uint32_t address);
  // A key that is unique across all blocks, counters and instances.
  uint64_t key(uint32_t instance) const { return (static_cast<uint64_t>(block - kBlocks) << 32) | number << 8 | instance; }
};

const PerformanceMonitor::Block PerformanceMonitor::Counter::kBlocks[] = {
    {kSq,
     Extent::Engine,
     8,
     {0xd9c0, 0xd9c1, 0xd9c2, 0xd9c3, 0xd9c4, 0xd9c5, 0xd9c6, 0xd9c7},
     0x1ff,
     {0xd1c0, 0xd1c2, 0xd1c4, 0xd1c6, 0xd1c8, 0xd1ca, 0xd1cc, 0xd1ce}},
    {"SPI",
     Extent::Engine,
     6,
     {0xd980, 0xd981, 0xd982, 0xd983, 0xd988, 0xd989},
     0x3ff,
     {0xd181, 0xd183, 0xd185, 0xd187, 0xd189, 0xd18b},
     true},
    {"TA", Extent::Cu, 2, {0xdac0, 0xdac2}, 0x3ff, {0xd2c0, 0xd2c2}},
    {"TD", Extent::Cu, 2, {0xdb00, 0xdb02}, 0x3ff, {0xd300, 0xd302}},
    {"TCP", Extent::Cu, 4, {0xdb40, 0xdb42, 0xdb44, 0xdb45}, 0x3ff, {0xd340, 0xd342, 0xd344, 0xd346}},
    {"TCC", Extent::L2Channel, 4, {0xdb80, 0xdb82, 0xdb84, 0xdb85}, 0x3ff, {0xd380, 0xd382, 0xd384, 0xd386}},
    {"GRBM", Extent::Xcc, 2, {0xd840, 0xd841}, 0x3f, {0xd040, 0xd043}},
    {"CPC", Extent::Xcc, 2, {0xd809, 0xd803}, 0x3ff, {0xd006, 0xd004}},
    {"CPF", Extent::Xcc, 2, {0xd807, 0xd805}, 0x3ff, {0xd00a, 0xd008}},
};

std::optional<PerformanceMonitor::Counter> PerformanceMonitor::Counter::selected_by(uint32_t address) {
  for (const Block& block : kBlocks)
    for (uint32_t i = 0; i < block.counters; ++i)
      if (block.selects[i] == address) return Counter{&block, i};
  return std::nullopt;
}

std::optional<PerformanceMonitor::Counter> PerformanceMonitor::Counter::held_by(uint32_t address) {
  for (const Block& block : kBlocks)
    for (uint32_t i = 0; i < block.counters; ++i) {
      if (address == block.counts[i]) return Counter{&block, i, false};
      if (address == block.counts[i] + (block.upper_first ? -1 : 1)) return Counter{&block, i, true};
    }
  return std::nullopt;
}

void PerformanceMonitor::write(uint32_t address, uint32_t value) {
  if (address == kGfxIndex) index_ = value;
  else if (address == kPerfmonControl) control(value);
  else if (const auto counter = Counter::selected_by(address)) select(*counter, value & counter->block->event_mask);
}

uint32_t PerformanceMonitor::read(uint32_t address) const {
  if (address == kGfxIndex) return index_;
  const auto counter = Counter::held_by(address);
  if (!counter) return 0;
  const uint64_t count = counted(*counter);
  return static_cast<uint32_t>(counter->upper_half ? count >> 32 : count);
}

void PerformanceMonitor::control(uint32_t value) {
  counting_ = (value & kStateMask) == kCount;
  if ((value & kStateMask) == kReset) sums_.clear();
}

// Shader engines are not distinguished here, since profilers select all of them.
void PerformanceMonitor::select(const Counter& counter, uint32_t event) {
  const uint32_t named = index_ & kInstanceMask;
  const bool all = index_ & kAllInstances;
  for (uint32_t instance = all ? 0 : named; instance <= (all ? kInstanceMask : named); ++instance)
    events_[counter.key(instance)] = event;
}

std::optional<uint32_t> PerformanceMonitor::event_of(const Counter& counter) const {
  const auto selected = events_.find(counter.key(index_ & kAllInstances ? 0 : index_ & kInstanceMask));
  return selected == events_.end() ? std::nullopt : std::optional(selected->second);
}

// The sum of the event over the whole device since the last reset; 0 if the model does not count the event.
double PerformanceMonitor::sum(const Counter& counter, uint32_t event) const {
  if (sums_.empty()) return 0;
  if (const auto counter_index = counter_of_event(counter.block->name, event)) return sums_[*counter_index];
  if (counter.block->name != kSq || counter.number == 0 || event == 0) return 0;
  const bool is_fine = event == target_of_device().level_sum_event;
  if (!is_fine && event != kCoarseLevelSum) return 0;
  // The only level that the model knows is the number of waves; its sum is the time that waves spend on the device, in
  // quad-cycles.
  if (event_of({counter.block, counter.number - 1}) != kWaveLevel || target_of_device().level_sum_event == 0) return 0;
  return wave_cycles(sums_) * (is_fine ? 4 : 1);
}

uint64_t PerformanceMonitor::counted(const Counter& counter) const {
  const auto event = event_of(counter);
  const auto number = unit(*counter.block);
  if (!event || !number) return 0;
  const uint64_t per_xcc = units_per_xcc(counter.block->extent);
  const auto total = static_cast<uint64_t>(std::llround(sum(counter, *event)));
  return share(total, xcc_ * per_xcc + *number, target::xcds() * per_xcc);
}

// The number of the unit of this block that GRBM_GFX_INDEX selects (of the first if it selects several); empty if there is
// none.
std::optional<uint64_t> PerformanceMonitor::unit(const Block& block) const {
  const uint32_t instance = index_ & kAllInstances ? 0 : index_ & kInstanceMask;
  const uint32_t engine = index_ & kAllEngines ? 0 : index_ >> kEngineShift & kEngineMask;
  const uint32_t engines = target::shader_engines_per_xcd();
  uint64_t number = 0;
  switch (block.extent) {
    case Extent::Engine: number = engine; break;
    case Extent::Cu: number = uint64_t{instance} * engines + engine; break;  // workgroups are assigned to the engines in turn
    case Extent::L2Channel: number = instance; break;
    case Extent::Xcc: break;
  }
  if (engine >= engines || number >= units_per_xcc(block.extent)) return std::nullopt;
  return number;
}

void PerformanceMonitor::count(const std::vector<double>& counters) {
  if (!counting_) return;
  sums_.resize(counters.size());
  for (size_t i = 0; i < counters.size(); ++i) sums_[i] += counters[i];
}

}  // namespace rpd
