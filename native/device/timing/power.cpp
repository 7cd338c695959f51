#include "timing/power.h"

#include "timing_parameters.inc.h"

namespace rpd {
namespace {

double peak_mhz() { return static_cast<double>(parameter::clock_mhz); }
constexpr double kMinMhz = 300;  // the clock of an idle GPU
constexpr double kStepMhz = 0.1;

double watts(const PowerUse& use, double mhz) {
  const double speed = mhz / peak_mhz();
  const double voltage = parameter::power_voltage_share + (1 - parameter::power_voltage_share) * speed;
  const double seconds = use.ns(speed) * 1e-9;
  const double clocked = parameter::power_busy_cu_w * static_cast<double>(use.busy_cus) * speed;
  return parameter::power_static_w + voltage * voltage * (clocked + use.core_joules / seconds) + use.memory_joules / seconds;
}

}  // namespace

double sustained_mhz(const PowerUse& use) {
  const auto limit = static_cast<double>(parameter::power_limit_w);
  if (watts(use, peak_mhz()) <= limit) return peak_mhz();
  double allowed = kMinMhz, refused = peak_mhz();
  while (refused - allowed > kStepMhz) {
    const double middle = (allowed + refused) / 2;
    (watts(use, middle) <= limit ? allowed : refused) = middle;
  }
  return allowed;
}

}  // namespace rpd
