#include "replay/report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/software_device_api.h"

namespace rpd::replay {
namespace {

using Json = nlohmann::ordered_json;

Json statistics_json(const Statistics& s) {
  return {{"average", s.average},
          {"min", s.minimum},
          {"max", s.maximum},
          {"median", s.median},
          {"stddev", s.deviation},
          {"cv", s.cv},
          {"classification", s.classification}};
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

uint64_t bytes_of(const capture::Capture& capture) {
  uint64_t bytes = 0;
  for (const capture::Region& region : capture.regions()) bytes += region.bytes;
  return bytes;
}

const char* timing() { return find_device() != nullptr ? "modelled" : "measured"; }

const char* kind_name(capture::Kind kind) { return capture::kKindNames[static_cast<size_t>(kind)]; }

Json comparison_json(const Comparison& comparison, bool tolerant) {
  Json regions = Json::array();
  for (const RegionVerdict& v : comparison.regions)
    regions.push_back({{"base", hex(v.base)},
                       {"bytes", v.bytes},
                       {"kind", kind_name(v.kind)},
                       {"equal", v.beyond == 0},
                       {"expected_changed_bytes", v.expected_changes},
                       {"differing_bytes", v.differing_bytes},
                       {"bytes_beyond_tolerance", v.beyond},
                       {"first_difference", v.first_difference ? Json(hex(v.first_difference)) : Json()},
                       {"largest_relative_error", tolerant ? Json(v.largest_error) : Json()}});
  return {{"equal", comparison.equal}, {"mode", tolerant ? "tolerance" : "exact"}, {"regions", regions}};
}

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string comparison_text(const Comparison& comparison, bool tolerant) {
  uint64_t changed = 0, differing = 0;
  for (const RegionVerdict& v : comparison.regions) changed += v.expected_changes, differing += v.differing_bytes;
  if (comparison.equal)
    return format(
        "Memory after the kernel: %s the captured memory (%lu bytes changed by the kernel, %zu regions, %lu bytes different)\n",
        differing ? "within the tolerance of" : "identical to", changed, comparison.regions.size(), differing);
  std::string text = "Memory after the kernel: DIFFERENT from the captured memory\n";
  for (const RegionVerdict& v : comparison.regions)
    if (v.beyond)
      text += format("  %s region %s: %lu of %lu bytes%s, the first at %s\n", kind_name(v.kind), hex(v.base).c_str(), v.beyond,
                     v.bytes, tolerant ? " beyond the tolerance" : "", hex(v.first_difference).c_str());
  return text;
}

std::string launch_text(const capture::Dispatch& dispatch) {
  const Extent &grid = dispatch.packet.grid, &group = dispatch.packet.workgroup;
  return format("Launch: %u x %u x %u work-items in workgroups of %u x %u x %u, %u bytes of dynamic LDS\n", grid[0], grid[1],
                grid[2], group[0], group[1], group[2], dynamic_lds_of(dispatch));
}

}  // namespace

Statistics statistics_of(std::vector<double> values) {
  Statistics s;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  s.average = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  s.minimum = values.front(), s.maximum = values.back();
  s.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  double squares = 0;
  for (const double value : values) squares += (value - s.average) * (value - s.average);
  if (n > 1) s.deviation = std::sqrt(squares / static_cast<double>(n - 1));
  if (s.average > 0) s.cv = s.deviation / s.average;
  s.classification = s.cv <= 0.05 ? "stable" : s.cv <= 0.10 ? "moderate" : "unstable";
  return s;
}

std::string json_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result) {
  const capture::Dispatch& dispatch = capture.dispatch();
  const capture::Dispatch launched = replay::launched(dispatch, options.launch);
  Json gpu = statistics_json(result.gpu);
  Json timing_json = {{"unit", "ms"}, {"source", timing()}};
  timing_json.update(gpu);
  timing_json["iterations"] = result.gpu_ms;
  const auto& counted = result.counted;
  timing_json["counted"] =
      counted ? Json{{"instructions", counted->instructions}, {"requests_beyond_l2", counted->requests_beyond_l2}} : Json();
  timing_json["wait"] = statistics_json(result.wait);
  timing_json["restore"] = options.recopy ? statistics_json(result.restore) : Json();
  timing_json["setup"] = result.setup_ms;
  timing_json["total_wall"] = result.wall_ms;
  const Json document = {
      {"schema_version", "1.0"},
      {"kernel",
       {{"name", dispatch.kernel.name},
        {"symbol", dispatch.kernel.symbol},
        {"hsaco_path", options.hsaco.empty() ? capture.path() + "/" + capture::kCodeFile : options.hsaco},
        {"replaced", !options.hsaco.empty()},
        {"grid", launched.packet.grid},
        {"workgroup", launched.packet.workgroup},
        {"dynamic_lds", dynamic_lds_of(launched)},
        {"launch_as_captured", options.launch.as_captured()}}},
      {"execution",
       {{"iterations", options.iterations},
        {"mode", options.recopy ? "stateless" : "stateful"},
        {"warmup", options.warmup},
        {"flush_cache", options.flush_cache},
        {"poison", options.poison ? Json(*options.poison) : Json()}}},
      {"timing", timing_json},
      {"capture",
       {{"directory", capture.path()},
        {"regions", capture.regions().size()},
        {"bytes", bytes_of(capture)},
        {"gpu_time_ms", static_cast<double>(dispatch.origin.gpu_time_ns) / 1e6},
        {"placement", session.method()},
        {"not_captured", dispatch.not_captured},
        {"warnings", dispatch.warnings}}},
      {"comparison", result.comparison ? comparison_json(*result.comparison, !options.tolerances.empty()) : Json()},
      {"environment",
       {{"gpu_agent", session.gpu().agent_name()},
        {"product", or_null(session.gpu().product())},
        {"device", find_device() != nullptr ? Json(find_device()->device) : Json()},
        {"rocm_version", or_null(rocm_version())},
        {"hsa_version", runtime_version()},
        {"pid", getpid()}}}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const Options& options, const capture::Capture& capture, const Session& session, const Result& result) {
  std::string text = "Kernel: " + capture.dispatch().kernel.name + "\n";
  if (!options.hsaco.empty()) text += "Code object: " + options.hsaco + "\n";
  if (!options.launch.as_captured()) text += launch_text(launched(capture.dispatch(), options.launch));
  text += "Agent: " + session.gpu().agent_name() + " (times are " + timing() + ")\n";
  text += format("Iterations: %lu\n", options.iterations);
  text += format("Recopy between iterations: %s\n", options.recopy ? "yes" : "no");
  text += format("Average GPU time: %.6f ms\n", result.gpu.average);
  text += format("GPU time: min %.6f ms, median %.6f ms, max %.6f ms, CV %.4f (%s)\n", result.gpu.minimum, result.gpu.median,
                 result.gpu.maximum, result.gpu.cv, result.gpu.classification);
  text += format("Average wait time: %.6f ms\n", result.wait.average);
  text += format("Total wall time: %.3f ms\n", result.wall_ms);
  if (result.comparison) text += comparison_text(*result.comparison, !options.tolerances.empty());
  for (const std::string& missing : capture.dispatch().not_captured) text += "Not captured: " + missing + "\n";
  for (const std::string& warning : capture.dispatch().warnings) text += "Note: " + warning + "\n";
  return text;
}

std::string json_of(const Options&, const capture::Capture& capture, const std::vector<Placement>& placements) {
  Json ranges = Json::array();
  for (const Placement& p : placements)
    ranges.push_back({{"base", hex(p.base)},
                      {"bytes", p.bytes},
                      {"outcome", name_of(p.outcome)},
                      {"got", p.outcome == Outcome::failed ? Json() : Json(hex(p.actual))},
                      {"why", or_null(p.why)}});
  return Json{{"schema_version", "1.0"},
              {"capture", {{"directory", capture.path()}}},
              {"outcome", name_of(worst(placements))},
              {"ranges", ranges}}
             .dump(1) +
         "\n";
}

std::string text_of(const capture::Capture&, const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& p : placements) {
    text += format("%-10s %s  %lu bytes", name_of(p.outcome), hex(p.base).c_str(), p.bytes);
    if (p.outcome == Outcome::relocated) text += " -> " + hex(p.actual);
    text += p.why.empty() ? "\n" : "  (" + p.why + ")\n";
  }
  return text + "Every range: " + name_of(worst(placements)) + "\n";
}

}  // namespace rpd::replay
