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
  if (!file.is_open()) throw WrongCases(path + " cannot be read");
  std::vector<Case> cases;
  try {
    for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
      Case one{{},
               launch_from(entry.at("launch")),
               text_or_empty(entry.at("overlay")),
               text_or_empty(entry.at("dump")),
               text_or_empty(entry.at("findings")),
               entry.at("device_options").get<std::string>(),
               entry.at("flush_cache").get<bool>(),
               entry.at("compare").get<bool>()};
      if (!entry.at("poison").is_null()) one.poison = entry.at("poison").get<uint8_t>();
      cases.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception& error) {
    throw WrongCases(path + ": " + error.what());
  }
  return cases;
}

void run_cases(Session& session, const std::vector<Case>& cases, std::chrono::seconds limit) {
  std::string device_options;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    if (one.device_options != device_options) session.set_device_options(device_options = one.device_options);
    put_findings_into(one.findings);
    session.launch(one.launch);
    session.overlay(one.overlay.empty() ? std::vector<Overlay>{} : read_overlays(one.overlay));
    if (one.poison) session.poison(*one.poison);
    if (one.flush_cache) session.flush_caches();
    const Times times = session.run(limit);
    std::optional<bool> equal;
    if (one.compare) equal = session.compare({}).equal;
    if (!one.dump.empty()) session.dump(one.dump);
    std::printf("%s\n", described(i, times, equal).dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace rpd::replay
