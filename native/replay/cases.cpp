#include "replay/cases.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace rpd::replay {
namespace {

std::string text_or_empty(const nlohmann::json& value) { return value.is_null() ? "" : value.get<std::string>(); }

LaunchConfiguration launch_from(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return {value.at("groups").get<Extent>(), value.at("group_size").get<Extent>(), value.at("dynamic_lds").get<uint32_t>()};
}

// The device reads these variables only when a dispatch ends, and no dispatch is in flight now.
void put_findings_into(const std::string& prefix) {
  for (const auto& [variable, file] :
       {std::pair{"ROCM_PERF_DEVICE_RACES", ".races"}, {"ROCM_PERF_DEVICE_WRITTEN", ".written"}}) {
    if (prefix.empty()) unsetenv(variable);
    else setenv(variable, (prefix + file).c_str(), 1);
  }
}

nlohmann::json described(size_t number, const Times& times, const std::optional<bool>& equal) {
  nlohmann::json line{{"case", number}, {"gpu_ms", times.gpu_ms}, {"counted", nullptr}, {"equal", nullptr}};
  if (times.counted)
    line["counted"] = {{"instructions", times.counted->instructions},
                       {"requests_beyond_l2", times.counted->requests_beyond_l2}};
  if (equal) line["equal"] = *equal;
  return line;
}

}  // namespace

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) throw InvalidCases(path + " cannot be read");
  std::vector<Case> cases;
  try {
    for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
      Case run{{},
               launch_from(entry.at("launch")),
               text_or_empty(entry.at("overlay")),
               text_or_empty(entry.at("dump")),
               text_or_empty(entry.at("findings")),
               entry.at("device_options").get<std::string>(),
               entry.at("flush_cache").get<bool>(),
               entry.at("compare").get<bool>()};
      if (!entry.at("poison").is_null()) run.poison = entry.at("poison").get<uint8_t>();
      cases.push_back(std::move(run));
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidCases(path + ": " + error.what());
  }
  return cases;
}

void run_cases(Session& session, const std::vector<Case>& cases, std::chrono::seconds limit) {
  std::string device_options;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& current = cases[i];
    if (current.device_options != device_options) session.set_device_options(device_options = current.device_options);
    put_findings_into(current.findings);
    session.set_launch(current.launch);
    session.overlay(current.overlay.empty() ? std::vector<Overlay>{} : read_overlays(current.overlay));
    if (current.poison) session.poison(*current.poison);
    if (current.flush_cache) session.flush_caches();
    const Times times = session.run(limit);
    std::optional<bool> equal;
    if (current.compare) equal = session.compare({}).equal;
    if (!current.dump.empty()) session.dump(current.dump);
    std::printf("%s\n", described(i, times, equal).dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace rpd::replay
