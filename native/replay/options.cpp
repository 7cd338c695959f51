#include "replay/options.h"

#include <cerrno>
#include <cstdlib>

namespace rpd::replay {
namespace {

uint64_t number_from(const std::string& name, const std::string& text, uint64_t minimum, uint64_t maximum) {
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < minimum || value > maximum)
    throw UsageError(name + " " + text + ": not a number from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  return value;
}

}  // namespace

Options options_from(int count, char** words) {
  Options options;
  if (count < 2) throw UsageError("no action: reserve-check, full-vm, cases, verify or unpack");
  const std::string action = words[1];
  if (action == "reserve-check") options.action = Options::Action::reserve_check;
  else if (action == "full-vm") options.action = Options::Action::full_vm;
  else if (action == "cases") options.action = Options::Action::cases;
  else if (action == "verify") options.action = Options::Action::verify;
  else if (action == "unpack") options.action = Options::Action::unpack;
  else throw UsageError(action + " is not an action: reserve-check, full-vm, cases, verify or unpack");

  for (int i = 2; i < count; ++i) {
    const std::string name = words[i];
    const auto value = [&]() -> std::string {
      if (++i == count) throw UsageError(name + " needs a value");
      return words[i];
    };
    if (name == "--capture-dir") options.capture = value();
    else if (name == "--json") options.json = true;
    else if (name == "--iterations") options.iterations = number_from(name, value(), 1, 1'000'000'000);
    else if (name == "--warmup") options.warmup = number_from(name, value(), 0, 1'000'000'000);
    else if (name == "--no-recopy") options.recopy = false;
    else if (name == "--flush-cache") options.flush_cache = true;
    else if (name == "--compare") options.compare = true;
    else if (name == "--poison") options.poison = static_cast<uint8_t>(number_from(name, value(), 0, 255));
    else if (name == "--hsaco") options.hsaco = value();
    else if (name == "--dump-output") options.dump = value();
    else if (name == "--overlay") options.overlay = value();
    else if (name == "--cases") options.cases = value();
    else if (name == "--timeout") options.limit_seconds = number_from(name, value(), 1, 1'000'000);
    else if (name == "--placement-attempt") options.attempt = static_cast<unsigned>(number_from(name, value(), 0, 1000));
    else if (name == "--dynamic-lds")
      options.launch.dynamic_lds = static_cast<uint32_t>(number_from(name, value(), 0, UINT32_MAX));
    else if (name == "--groups" || name == "--group-size") {
      try {
        (name == "--groups" ? options.launch.groups : options.launch.group_size) = extent_from(value());
      } catch (const InvalidLaunch& error) {
        throw UsageError(name + " " + error.what());
      }
    } else if (name == "--tolerance") {
      const std::string text = value();
      try {
        options.tolerances.push_back(tolerance_from(text));
      } catch (const std::invalid_argument& error) {
        throw UsageError(name + " " + text + ": " + error.what());
      }
    } else {
      throw UsageError(name + " is not an option of " + action);
    }
  }
  if (options.capture.empty()) throw UsageError("no --capture-dir");
  if (options.action == Options::Action::unpack && options.dump.empty()) throw UsageError("unpack needs --dump-output");
  if (options.poison && !options.recopy)
    throw UsageError("--poison with --no-recopy: poisoned outputs would be the next iteration's inputs");
  if (options.action == Options::Action::cases && !options.launch.as_captured())
    throw UsageError("each case defines its own launch");
  if (!options.tolerances.empty()) options.compare = true;
  if (options.compare && !options.overlay.empty())
    throw UsageError("--compare with --overlay: the captured outputs are not those that the kernel computes from other inputs");
  return options;
}

}  // namespace rpd::replay
