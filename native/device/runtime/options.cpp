#include "runtime/options.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rpd {
namespace {

constexpr uint64_t kDefaultRaceSeed = 1;
// Instructions per XCD. Executing kSampled of them on each of the eight XCDs of a gfx942 takes one core a fraction of a second;
// executing kSampledIfLarge takes it a minute.
constexpr uint64_t kSampled = 1 << 17, kSampledIfLarge = 1 << 26;
constexpr std::string_view kTiming = "timing.";

uint64_t number(std::string_view name, std::string_view value, uint64_t least) {
  uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || result < least) {
    throw std::runtime_error("device option " + std::string(name) + "=" + std::string(value) +
                             ": not a number >= " + std::to_string(least));
  }
  return result;
}

double real(std::string_view name, std::string_view value) {
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc{} && end == value.data() + value.size()) return result;
  throw std::runtime_error("device option " + std::string(name) + "=" + std::string(value) + ": not a number");
}

bool says_what_to_observe(std::string_view value) {
  return value == "all" || value == "auto" || value == "sampled" || value == "none";
}

void observe(std::string_view value, EngineOptions& options) {
  options.observe = value != "none";
  options.sampled_beyond = value == "sampled" ? kSampled : value == "auto" ? kSampledIfLarge : ~uint64_t{0};
}

void apply(std::string_view option, EngineOptions& options) {
  const size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? option.substr(equals + 1) : "";
  if (name == "kernel-limit") {
    options.kernel_limit = number(name, value, 1);
  } else if (name == "initial-values" && has_value) {
    options.initial_values = number(name, value, 0);
  } else if (name == "race-check") {
    options.race_seed = has_value ? number(name, value, 0) : kDefaultRaceSeed;
  } else if (name == "timed-cu" && has_value) {
    options.timed_cu = number(name, value, 0);
  } else if (name == "deadlock-after" && has_value) {
    options.deadlock_seconds = number(name, value, 0);
  } else if (name.starts_with(kTiming)) {
    options.timing_parameters.emplace_back(name.substr(kTiming.size()), real(name, value));
  } else if (name == "observe" && says_what_to_observe(value)) {
    observe(value, options);
  } else if (name == "flush-l2" && !has_value) {
    options.flush_l2 = true;
  } else if (name == "memory-check" && !has_value) {
    options.memory_check = true;
  } else if (name == "lds-check" && !has_value) {
    options.lds_check = true;
  } else if (name == "unordered-atomics" && !has_value) {
    options.unordered_atomics = true;
  } else {
    throw std::runtime_error(
        "device option " + std::string(name) +
        " is unknown (known: deadlock-after=SECONDS, flush-l2, initial-values=SEED, kernel-limit=N, lds-check, memory-check, "
        "observe=all|auto|sampled|none, race-check[=SEED], timed-cu=N, timing.NAME=VALUE, unordered-atomics)");
  }
}

}  // namespace

EngineOptions engine_options(std::string_view remaining) {
  EngineOptions options;
  while (!remaining.empty()) {
    const size_t comma = remaining.find(',');
    const std::string_view option = remaining.substr(0, comma);
    if (!option.empty()) apply(option, options);
    remaining = comma == std::string_view::npos ? "" : remaining.substr(comma + 1);
  }
  return options;
}

EngineOptions engine_options() {
  const char* text = std::getenv("ROCM_PERF_DEVICE_OPTIONS");
  EngineOptions options = engine_options(text ? text : "");
  const char* xnack = std::getenv("HSA_XNACK");
  options.page_faults = xnack && std::string_view(xnack) == "1";
  return options;
}

}  // namespace rpd
