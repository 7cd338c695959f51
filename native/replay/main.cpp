// rocmperf-replay: reruns a captured dispatch, with its memory at the captured addresses. `rocm-perf replay` starts it in the
// right environment; it uses rocm-perf's exit codes (src/rocm_perf_lab/errors.py).
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "replay/cases.h"
#include "replay/crash_report.h"
#include "replay/exit_codes.h"
#include "replay/mmap_hint.h"
#include "replay/report.h"
#include "replay/sparse_file.h"

namespace rpd::replay {
namespace {

using Clock = std::chrono::steady_clock;

// How many times to try again: in each attempt, this process's own memory has a different, random layout.
constexpr unsigned kAttempts = 16;

// If the thunk manages a range of addresses itself, that range ends below this address [libhsakmt, fmm.c:
// SVM_RESERVATION_LIMIT].
constexpr uint64_t kMaxSvmAddress = 1ull << 40;

struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

void try_again_elsewhere(const Options& options, int count, char** words) {
  if (options.attempt >= kAttempts) return;
  std::vector<char*> again(words, words + count);
  std::string attempt = std::to_string(options.attempt + 1), name = "--placement-attempt";
  again.insert(again.end(), {name.data(), attempt.data(), nullptr});
  execv("/proc/self/exe", again.data());
}

// Called before hsa_init, so that ROCr stays away from the addresses that the capture needs. If some of these addresses are
// taken, restarts the process, up to kAttempts times.
std::vector<Placement> reserved(const Options& options, const capture::Capture& capture, int count, char** words) {
  std::vector<Placement> placements = reserve(ranges_of(capture));
  if (worst(placements) != Outcome::exact) try_again_elsewhere(options, count, words);
  uint64_t end = 0;
  for (const Placement& placement : placements)
    if (placement.base < kMaxSvmAddress) end = std::max(end, placement.base + placement.bytes);
  if (end != 0) start_svm_range_above(end);
  return placements;
}

int reserve_check(const Options& options, const capture::Capture& capture, int count, char** words) {
  std::vector<Placement> placements = reserved(options, capture, count, words);
  if (worst(placements) == Outcome::exact) placements = check_ranges(capture);
  std::fputs((options.json ? json_of(options, capture, placements) : text_of(capture, placements)).c_str(), stdout);
  switch (worst(placements)) {
    case Outcome::exact: return kFine;
    case Outcome::relocated: return kRelocatedRange;
    default: return kFailedRange;
  }
}

std::vector<unsigned char> replacement(const Options& options) {
  if (options.hsaco.empty()) return {};
  std::ifstream file(options.hsaco, std::ios::binary);
  std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open() || bytes.empty()) throw UnfitCodeError("it cannot be read, or is empty");
  return bytes;
}

void check_fit(const Options& options, const capture::Capture& capture, const std::vector<unsigned char>& code,
               const LaunchConfiguration& launch) {
  const capture::Dispatch dispatch = launched(capture.dispatch(), launch);
  if (code.empty() && launch.as_captured()) return;
  const CurrentActivity reading(options.hsaco, "reading it", kUnfit, kBuildIt, true);
  fit_replacement(dispatch, capture.code(), code.empty() ? std::span(capture.code()) : std::span(code));
}

Times one_iteration(const Options& options, Session& session, std::vector<double>* restores) {
  if (options.recopy) {
    const auto began = Clock::now();
    session.restore();
    if (restores != nullptr) restores->push_back(milliseconds_since(began));
  }
  if (options.poison) session.poison(*options.poison);
  if (options.flush_cache) session.flush_caches();
  return session.run(std::chrono::seconds(options.limit_seconds));
}

void make_dump_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw OutputError(path + ": " + error.message());
  if (!std::filesystem::is_empty(path, error)) throw OutputError(path + " is not empty");
}

void require_exact(const std::vector<Placement>& placements) {
  if (const Placement* bad = first_not_exact(placements))
    throw PlacementError(std::to_string(bad->bytes) + " bytes at " + hex(bad->base) + " cannot be reserved: " + bad->why);
}

int full_vm(const Options& options, const capture::Capture& capture, int count, char** words) {
  const std::vector<unsigned char> code = replacement(options);
  check_fit(options, capture, code, options.launch);  // an unfit launch must be refused before anything is set up
  if (!capture.dispatch().completed && (options.compare || options.poison))
    throw UsageError("--compare and --poison: the kernel failed when it was captured, so memory after it is unknown");
  if (!options.dump.empty()) make_dump_folder(options.dump);
  const auto began = Clock::now();
  capture.check_holes(capture::Phase::before);
  capture.verify(capture::Phase::after);  // a damaged capture must be refused, whichever parts this replay would use
  require_exact(reserved(options, capture, count, words));
  Session session(capture, code, options.hsaco);
  session.set_launch(options.launch);
  if (!options.overlay.empty()) session.overlay(read_overlays(options.overlay));
  Result result;
  result.setup_ms = milliseconds_since(began);
  if (!options.json) std::puts("Memory reconstructed."), std::fflush(stdout);

  for (uint64_t i = 0; i < options.warmup; ++i) one_iteration(options, session, nullptr);
  if (options.warmup > 0 && !options.recopy) session.restore();
  std::vector<double> waits, restores;
  const auto first = Clock::now();
  for (uint64_t i = 0; i < options.iterations; ++i) {
    const Times times = one_iteration(options, session, &restores);
    result.gpu_ms.push_back(times.gpu_ms), waits.push_back(times.wait_ms);
    result.counted = times.counted;
  }
  result.wall_ms = milliseconds_since(first);
  result.gpu = statistics_of(result.gpu_ms), result.wait = statistics_of(waits), result.restore = statistics_of(restores);
  if (options.compare) result.comparison = session.compare(options.tolerances);
  if (!options.dump.empty()) {
    try {
      session.dump(options.dump);
    } catch (const std::runtime_error& error) {
      throw OutputError(error.what());
    }
  }
  std::fputs((options.json ? json_of(options, capture, session, result) : text_of(options, capture, session, result)).c_str(),
             stdout);
  return result.comparison && !result.comparison->equal ? kDifferent : kFine;
}

void verify(const capture::Capture& capture) {
  for (const capture::Phase phase : {capture::Phase::before, capture::Phase::after}) capture.verify(phase);
}

// Writes each region's memory to a plain file and, if the kernel changed it, its memory after the kernel to a second file, for
// users who have no program that reads captures.
void unpack(const Options& options, const capture::Capture& capture) {
  make_dump_folder(options.dump);
  verify(capture);
  Image image(capture);
  const capture::Folder folder(options.dump);
  for (uint32_t i = 0; i < capture.regions().size(); ++i) {
    const capture::Region& region = capture.regions()[i];
    const std::string name = "region_" + hex(region.base).substr(2);
    try {
      write_sparse(folder, name + ".bin", image.before(i), region.bytes);
      const auto& changed = capture.blocks(capture::Phase::after);
      if (std::any_of(changed.begin(), changed.end(), [i](const capture::Block& block) { return block.region == i; }))
        write_sparse(folder, name + ".after.bin", image.expected(i), region.bytes);
    } catch (const std::runtime_error& error) {
      throw OutputError(error.what());
    }
  }
}

int run_all_cases(const Options& options, const capture::Capture& capture, int count, char** words) {
  const std::vector<unsigned char> code = replacement(options);
  const std::vector<Case> cases = read_cases(options.cases);
  for (const Case& run : cases) check_fit(options, capture, code, run.launch);
  require_exact(reserved(options, capture, count, words));
  Session session(capture, code, options.hsaco);
  run_cases(session, cases, std::chrono::seconds(options.limit_seconds));
  return kFine;
}

int run(const Options& options, int count, char** words) {
  const CurrentActivity replaying(options.capture, "the replay", kFailed, "see docs/REPLAY.md for what a replay cannot do");
  const capture::Capture capture(options.capture);
  switch (options.action) {
    case Options::Action::reserve_check: return reserve_check(options, capture, count, words);
    case Options::Action::verify: verify(capture); return kFine;
    case Options::Action::unpack: unpack(options, capture); return kFine;
    case Options::Action::cases: return run_all_cases(options, capture, count, words);
    default: return full_vm(options, capture, count, words);
  }
}

// Prints a single line, whatever characters the names in a capture contain.
int fail(ExitCode code, std::string message, const char* hint) {
  for (char& c : message)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  std::fflush(stdout);
  std::fprintf(stderr, "rocm-perf: error: %s; %s\n", message.c_str(), hint);
  return code;
}

int guarded(int count, char** words) {
  report_crashes();
  Options options;
  try {
    options = options_from(count, words);
    const int code = run(options, count, words);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      return fail(kOutput, "the output cannot be written", "free some disk space");
    return code;
  } catch (const UsageError& error) {
    return fail(kUsage, error.what(), "`rocm-perf replay --help` lists what it accepts");
  } catch (const capture::InvalidCapture& error) {
    return fail(kBadCapture, options.capture + ": " + error.what(), "capture again with `rocm-perf isolate`");
  } catch (const PlacementError& error) {
    return fail(kNotExact, options.capture + ": " + error.what(),
                "`rocm-perf replay reserve-check` shows every range; try a machine with a similar address space");
  } catch (const InvalidLaunch& error) {
    return fail(kUsage, options.capture + ": " + error.what(), "choose a different --groups, --group-size or --dynamic-lds");
  } catch (const UnfitCodeError& error) {
    const std::string file = options.hsaco.empty() ? options.capture + "/" + capture::kCodeFile : options.hsaco;
    return fail(kUnfit, file + ": " + error.what(), kBuildIt);
  } catch (const InvalidOverlay& error) {
    return fail(kUsage, std::string("--overlay: ") + error.what(), "see docs/REPLAY.md for the format of its records");
  } catch (const InvalidCases& error) {
    return fail(kUsage, std::string("--cases: ") + error.what(), "`rocm-perf` writes this file itself");
  } catch (const OutputError& error) {
    return fail(kOutput, error.what(), "name an empty folder with enough free space with --dump-output");
  } catch (const std::exception& error) {
    return fail(kFailed, options.capture + ": " + error.what(), "see docs/REPLAY.md for what a replay cannot do");
  }
}

}  // namespace
}  // namespace rpd::replay

int main(int count, char** words) { return rpd::replay::guarded(count, words); }
