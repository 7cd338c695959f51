#include "replay/cases.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rpd::replay {
namespace {

std::string text_or_empty(const nlohmann::json& value) { return value.is_null() ? "" : value.get<std::string>(); }

}  // namespace

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) throw WrongCases(path + " cannot be read");
  std::vector<Case> cases;
  try {
    for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
      Case one{{}, text_or_empty(entry.at("overlay")), text_or_empty(entry.at("dump"))};
      if (!entry.at("poison").is_null()) one.poison = entry.at("poison").get<uint8_t>();
      cases.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception& error) {
    throw WrongCases(path + ": " + error.what());
  }
  return cases;
}

void run_cases(Session& session, const std::vector<Case>& cases, std::chrono::seconds limit) {
  for (size_t i = 0; i < cases.size(); ++i) {
    session.overlay(cases[i].overlay.empty() ? std::vector<Overlay>{} : read_overlays(cases[i].overlay));
    if (cases[i].poison) session.poison(*cases[i].poison);
    const Times times = session.run(limit);
    if (!cases[i].dump.empty()) session.dump(cases[i].dump);
    std::printf("%s\n", nlohmann::json{{"case", i}, {"gpu_ms", times.gpu_ms}}.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace rpd::replay
