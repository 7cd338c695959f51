#include "runtime/reports/thread_trace.h"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <string_view>

#include "isa/disassembler.h"
#include "isa/target.h"
#include "runtime/hooks/loaded_code.h"
#include "runtime/reports/kernel_names.h"
#include "runtime/reports/log.h"
#include "timing/thread_trace/causes_file.h"
#include "timing/thread_trace/files.h"

namespace rpd {
namespace {

// The number given to the CU that gets the first workgroup of an XCD; rocprofv3 traces CU 1 by default. On hardware, the choice
// of that CU is just as arbitrary.
constexpr uint32_t kFirstCu = 1;

struct Options {
  std::filesystem::path folder;      // empty: no traces
  std::optional<std::regex> kernel;  // none: all kernels except for the HIP runtime's own
  uint64_t iteration = 1;            // which dispatch of each such kernel, counted from 1
  std::map<std::string, uint64_t, std::less<>> also;  // symbols of further kernels, and which dispatch of each
  uint32_t cu = kFirstCu;
  uint32_t simds = 0xf;
};

uint64_t number(const char* name, uint64_t limit, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  std::string_view digits = text;
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error == std::errc{} && end == digits.data() + digits.size() && value <= limit) return value;
  report_error("%s=%s is not a number up to %lu; using %lu", name, text, limit, otherwise);
  return otherwise;
}

// SYMBOL=ITERATION, separated by commas.
std::map<std::string, uint64_t, std::less<>> further_kernels(const char* name) {
  std::map<std::string, uint64_t, std::less<>> iterations;
  const char* text = std::getenv(name);
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const size_t equals = entry.rfind('=');
    uint64_t iteration = 0;
    const char* const end = entry.data() + entry.size();
    if (equals == std::string_view::npos || std::from_chars(entry.data() + equals + 1, end, iteration).ptr != end)
      report_error("%s: %.*s is not SYMBOL=ITERATION", name, static_cast<int>(entry.size()), entry.data());
    else iterations.emplace(entry.substr(0, equals), iteration);
  }
  return iterations;
}

Options read_options() {
  Options options;
  const char* folder = std::getenv("ROCM_PERF_THREAD_TRACE");
  if (!folder || !*folder) return options;
  options.folder = folder;
  if (const char* kernel = std::getenv("ROCM_PERF_THREAD_TRACE_KERNEL"); kernel && *kernel) {
    try {
      options.kernel = std::regex(kernel, std::regex::ECMAScript | std::regex::nosubs);
    } catch (const std::regex_error&) {
      report_error("ROCM_PERF_THREAD_TRACE_KERNEL=%s is not a regular expression; no kernel is traced", kernel);
      options.folder.clear();
    }
  }
  options.iteration = number("ROCM_PERF_THREAD_TRACE_ITERATION", ~uint64_t{0}, options.iteration);
  options.also = further_kernels("ROCM_PERF_THREAD_TRACE_ALSO");
  options.cu = static_cast<uint32_t>(number("ROCM_PERF_THREAD_TRACE_CU", target::cus_per_xcd() - 1, options.cu));
  options.simds = static_cast<uint32_t>(number("ROCM_PERF_THREAD_TRACE_SIMDS", 0xf, options.simds));
  return options;
}

const Options& options() {
  static const auto* read = new Options(read_options());
  return *read;
}

std::mutex mutex;
uint64_t dispatch_number = 0;                 // counts all kernel dispatches, from 1
std::map<uint64_t, uint64_t>& dispatches() {  // number of dispatches, by kernel object
  static auto* map = new std::map<uint64_t, uint64_t>;
  return *map;
}

bool is_of_the_runtime(const std::string& symbol) { return symbol.starts_with("__amd_rocclr_"); }

bool matches(const std::string& symbol) {
  if (!options().kernel) return !is_of_the_runtime(symbol);
  return std::regex_search(symbol, *options().kernel) || std::regex_search(demangled_name(symbol), *options().kernel);
}

// Which dispatch of the kernel to trace, counted from 1; 0: none.
uint64_t wanted_iteration(const std::string& symbol) {
  const auto named = options().also.find(symbol);
  return named != options().also.end() ? named->second : matches(symbol) ? options().iteration : 0;
}

bool is_of_the_toolchain(std::string_view path) {
  return path.starts_with("/usr/") || path.starts_with("/opt/rocm") || path.find("/lib/clang/") != std::string_view::npos;
}

class Lister {
 public:
  explicit Lister(const AddressSpace& memory) : memory_(memory), disassembler_(target_of_device().isa_name) {}

  // Adds the whole function around a device address, or only the address itself if it is not in a known function.
  void add(uint64_t address) {
    if (listing_.contains(address)) return;
    const auto code = loaded_code_at(address);
    const Function* function = code && code->object ? code->object->function_at(address - code->delta) : nullptr;
    if (!function) {
      add_range(code.get(), address, address + 1, "");
      return;
    }
    const uint64_t begin = function->address + code->delta;
    add_range(code.get(), begin, begin + function->size, function->is_kernel ? function->symbol : "");
    // The listing lacks this instruction if, for example, data in the middle of the code was decoded as instructions.
    if (!listing_.contains(address)) add_range(code.get(), address, address + 1, "");
  }

  const Listing& listing() const { return listing_; }

 private:
  void add_range(const LoadedCode* code, uint64_t begin, uint64_t end, const std::string& kernel) {
    for (uint64_t address = begin; address < end;) {
      const AccessWindow mapped = memory_.window(address, false);
      if (!mapped.holds(address, sizeof(uint32_t))) return;
      const uint64_t available = std::min(mapped.begin + mapped.size - address, target::kMaxInstructionBytes);
      const DisassembledInstruction instruction = disassembler_.at(memory_.at<char>(address), available);
      ListedInstruction listed;
      const size_t text = instruction.text.find_first_not_of(" \t");
      listed.text =
          instruction.size == 0 ? "(no instruction)" : instruction.text.substr(std::min(text, instruction.text.size()));
      listed.vaddr = code ? address - code->delta : address;
      listed.code_object = code ? code->number : 0;
      if (code && code->object) listed.source = code->object->source_of(listed.vaddr);
      if (address == begin) listed.kernel = kernel;
      listing_.emplace(address, std::move(listed));
      address += std::max<uint64_t>(instruction.size, sizeof(uint32_t));
    }
  }

  const AddressSpace& memory_;
  Disassembler disassembler_;
  Listing listing_;
};

}  // namespace

bool are_thread_traces_requested() { return !options().folder.empty(); }

std::optional<uint32_t> count_dispatch_and_choose_cu(const DispatchRequest& request) {
  if (options().folder.empty()) return std::nullopt;
  const std::lock_guard lock(mutex);
  ++dispatch_number;
  const uint64_t iteration = wanted_iteration(kernel_symbol(request.kernel_object));
  if (iteration == 0 || ++dispatches()[request.kernel_object] != iteration) return std::nullopt;
  const uint32_t cus = target::cus_per_xcd();
  return (options().cu + cus - kFirstCu) % cus;
}

std::string line_of_code(uint64_t address) {
  const auto code = loaded_code_at(address);
  if (!code || !code->object) return "";
  constexpr std::string_view separator = " -> ";
  const std::string source = code->object->source_of(address - code->delta);
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find(separator, begin), source.size());
    const std::string line = source.substr(begin, end - begin);
    if (!is_of_the_toolchain(line)) return line;
    begin = end + separator.size();
  }
  return source.substr(0, source.find(separator));
}

void write_thread_trace(const DispatchRequest& request, const DispatchResult& result, const AddressSpace& memory,
                        uint32_t node) {
  const Timeline& timeline = *result.timeline;
  const std::lock_guard lock(mutex);
  try {
    Lister lister(memory);
    for (const TimelineWave& wave : timeline.waves()) {
      for (const TimelineEntry& entry : wave.entries) lister.add(entry.op->address);
    }
    const std::string name = "ui_output_agent_" + std::to_string(node) + "_dispatch_" + std::to_string(dispatch_number);
    const ThreadTraceSubject traced{kernel_symbol(request.kernel_object), options().cu, options().simds};
    const bool causes = result.causes && !timeline.waves().empty();
    if (causes)
      for (const CauseTimes::InstructionTime& instruction : result.causes->instructions) lister.add(instruction.op->address);
    write_thread_trace(options().folder, name, traced, timeline, lister.listing());
    if (causes) write_causes(options().folder / name, *result.causes, lister.listing());
    log_line("thread trace of dispatch %lu: %zu waves", dispatch_number, timeline.waves().size());
  } catch (const std::exception& failure) {
    report_error("thread trace of dispatch %lu: %s", dispatch_number, failure.what());
  }
}

}  // namespace rpd
