#include "timing/parameters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "isa/target.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr size_t kHashDigits = 16;

const char* hash_of_table() { return parameter::hashes[parameter_table()]; }

std::array<char, kHashDigits + 1>& hash_text() {
  static std::array<char, kHashDigits + 1> text = [] {
    std::array<char, kHashDigits + 1> usual{};
    std::memcpy(usual.data(), hash_of_table(), kHashDigits);
    return usual;
  }();
  return text;
}

void set(const parameter::Variable& variable, double value) {
  if (variable.integer) *variable.integer = static_cast<long>(value);
  if (variable.real) *variable.real = value;
}

const parameter::Variable& adjustable(const std::string& name) {
  for (const parameter::Variable& variable : parameter::variables)
    if (variable.adjustable && name == variable.name) return variable;
  throw std::runtime_error("timing." + name + " is not an adjustable parameter of the timing model");
}

// FNV-1a over the table's hash and the changed values.
uint64_t hash_of(const ParameterValues& values) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](const void* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  };
  add(hash_of_table(), kHashDigits);
  for (const auto& [name, value] : values) {
    add(name.data(), name.size());
    add(&value, sizeof(value));
  }
  return hash;
}

void write_digits(uint64_t hash) {
  for (size_t i = kHashDigits; i-- > 0; hash >>= 4) hash_text()[i] = "0123456789abcdef"[hash & 15];
}

}  // namespace

uint64_t dispatch_gap_ns() { return static_cast<uint64_t>(parameter::dispatch_gap_ns); }
uint64_t submit_cost_ns() { return parameter::submit_cost_ns; }
const char* timing_parameters_hash() { return hash_text().data(); }

void set_timing_parameters(const ParameterValues& values) {
  for (const parameter::Variable& variable : parameter::variables) set(variable, variable.usual[parameter_table()]);
  std::memcpy(hash_text().data(), hash_of_table(), kHashDigits);
  ParameterValues sorted = values;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, value] : sorted) {
    const parameter::Variable& variable = adjustable(name);
    const double least = variable.integer ? 1 : std::numeric_limits<double>::min();
    if (!(value >= least && value <= variable.most)) throw std::runtime_error("timing." + name + ": the value is out of range");
    set(variable, value);
  }
  if (!sorted.empty()) write_digits(hash_of(sorted));
}

uint64_t copy_overhead_ns() { return static_cast<uint64_t>(parameter::copy_overhead_ns); }

uint64_t transfer_ns(uint64_t bytes, Route route) {
  switch (route) {  // 1 GB/s is 1 byte per nanosecond
    case Route::WithinDevice: return bytes / static_cast<uint64_t>(parameter::device_copy_gbps);
    case Route::HostLink: return bytes / static_cast<uint64_t>(parameter::host_link_gbps);
    case Route::PeerLink: return bytes / static_cast<uint64_t>(parameter::peer_link_gbps);
  }
  return 0;
}

}  // namespace rpd
