#include "isolate/capture_dispatch.h"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "capture/code_metadata.h"
#include "capture/writer.h"
#include "common/software_device_api.h"
#include "isolate/argument_memory.h"
#include "isolate/failures.h"
#include "isolate/file_size_signal.h"
#include "isolate/settings.h"
#include "isolate/snapshot.h"
#include "isolate/state.h"
#include "isolate/submission_barrier.h"
#include "isolate/target.h"
#include "isolate/uncaptured_pointers.h"

namespace rpd::isolate {
namespace {

// How long a dispatch may run alone on the GPU. Kernels on the software device can be slow.
constexpr int kPatienceSeconds = 600;

double seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::string agent_text(hsa_agent_t agent, int attribute) {
  char text[256] = {};
  hsa.core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(attribute), text);
  return text;
}

hsa_status_t first_isa(hsa_isa_t isa, void* data) {
  char text[256] = {};
  hsa.core.hsa_isa_get_info_alt_fn(isa, HSA_ISA_INFO_NAME, text);
  *static_cast<std::string*>(data) = text;
  return HSA_STATUS_INFO_BREAK;
}

std::string runtime_version() {
  uint16_t major = 0, minor = 0;
  hsa.core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  hsa.core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

// The version recorded by ROCm's packages; empty if ROCm was not installed from packages.
std::string rocm_version() {
  const char* root = std::getenv("ROCM_PATH");
  std::ifstream file(std::string(root != nullptr && *root != '\0' ? root : "/opt/rocm") + "/.info/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string now() {
  const time_t seconds = time(nullptr);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

capture::Origin origin(const DispatchToCapture& chosen) {
  capture::Origin origin;
  origin.agent = agent_text(chosen.agent, HSA_AGENT_INFO_NAME);
  origin.product = agent_text(chosen.agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  hsa.core.hsa_agent_iterate_isas_fn(chosen.agent, first_isa, &origin.isa);
  if (const rpd_api* device = find_device()) origin.device = device->device;
  origin.rocm_version = rocm_version();
  origin.runtime_version = runtime_version();
  std::error_code error;
  origin.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  origin.working_directory = std::filesystem::current_path(error).string();
  origin.command = command_line();
  origin.time = now();
  origin.pid = getpid();
  origin.dispatch_index = wanted_index();
  return origin;
}

capture::Packet packet_of(const hsa_kernel_dispatch_packet_t& packet) {
  capture::Packet copy;
  copy.header = packet.header;
  copy.setup = packet.setup;
  copy.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  copy.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  copy.private_bytes = packet.private_segment_size;
  copy.group_bytes = packet.group_segment_size;
  copy.kernel_object = packet.kernel_object;
  copy.kernarg_address = reinterpret_cast<uint64_t>(packet.kernarg_address);
  return copy;
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

std::string address_text(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// The `size` bytes of memory at `address`, in whichever region they are. Throws if no region contains them.
std::vector<unsigned char> bytes_at(MemoryAccess& access, const std::vector<Source>& sources, uint64_t address, uint64_t size,
                                    const char* name) {
  if (size == 0) return {};
  for (const Source& source : sources) {
    if (!source.region.contains(address, size)) continue;
    Source pages = source;  // only the pages that are needed, since a region may have gigabytes
    const uint64_t first = address & ~(capture::kPage - 1);
    pages.region.base = first;
    pages.region.bytes = ((address + size + capture::kPage - 1) & ~(capture::kPage - 1)) - first;
    std::vector<unsigned char> copy;
    access.read(pages,
                [&](uint64_t, std::span<const unsigned char> bytes) { copy.insert(copy.end(), bytes.begin(), bytes.end()); });
    copy.erase(copy.begin(), copy.begin() + static_cast<ptrdiff_t>(address - first));
    copy.resize(size);
    return copy;
  }
  throw std::runtime_error(std::string(name) + " at " + address_text(address) + " is not in any known allocation");
}

// Leaves out memory that the program has unmapped without informing ROCr, and adds it to not_captured.
std::vector<Source> readable(std::vector<Source> sources, std::vector<std::string>& not_captured) {
  std::erase_if(sources, [&](const Source& source) {
    const bool may_be_gone = source.region.kind == capture::Kind::registered || source.region.kind == capture::Kind::managed;
    if (!may_be_gone || is_readable(source.region.base, source.region.bytes)) return false;
    not_captured.push_back(std::string(capture::kKindNames[static_cast<size_t>(source.region.kind)]) + " memory at " +
                           address_text(source.region.base) + " (" + std::to_string(source.region.bytes) +
                           " bytes), which is no longer mapped");
    return true;
  });
  return sources;
}

// Completes the program's signal as the GPU would have, with the dispatch's times. If the dispatch failed, the signal gets a
// negative value.
void complete(hsa_signal_t program_signal, hsa_signal_t own_signal, bool succeeded) {
  if (program_signal.handle == 0) return;
  memory_of(program_signal)->start_ts = memory_of(own_signal)->start_ts;
  memory_of(program_signal)->end_ts = memory_of(own_signal)->end_ts;
  const hsa_signal_value_t value = __atomic_load_n(&memory_of(own_signal)->value, __ATOMIC_ACQUIRE);
  hsa.core.hsa_signal_subtract_screlease_fn(program_signal, succeeded ? 1 : 1 - value);
}

// Runs the dispatch with one of this library's signals, so that the program sees the dispatch complete only after memory has
// been read.
class DispatchWithOwnSignal {
 public:
  explicit DispatchWithOwnSignal(const Packet& packet) : packet_(packet) {
    if (hsa.core.hsa_signal_create_fn(1, 0, nullptr, &signal_) != HSA_STATUS_SUCCESS)
      throw std::runtime_error("ROCr has no signal left");
  }
  ~DispatchWithOwnSignal() {
    if (submitted_ && !completed(signal_)) return;  // the GPU failed and may still use the signal, so it is leaked
    if (submitted_) complete(packet_.dispatch.completion_signal, signal_, succeeded());
    hsa.core.hsa_signal_destroy_fn(signal_);
  }
  DispatchWithOwnSignal(const DispatchWithOwnSignal&) = delete;

  void run(const std::function<void(const Packet&)>& submit) {
    Packet copy = packet_;
    copy.dispatch.completion_signal = signal_;
    if (device_ != nullptr) device_->record_dispatches(1);
    submitted_ = true;
    submit(copy);
    // Polls memory, because a wait through ROCr would be charged to this thread, and so to the program, in the device's
    // modelled time.
    const double began = seconds();
    bool alone = true;
    while (!ended() && !gpu_failed.load()) {
      if (alone && seconds() - began > kPatienceSeconds) alone = false, the_submission_barrier().open();
      const timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
    if (!alone)
      throw std::runtime_error("the dispatch did not end within " + std::to_string(kPatienceSeconds) +
                               " seconds while nothing else was allowed to run; it may be waiting for something else");
  }
  bool succeeded() const {
    if (device_ != nullptr) return times_.end_ns != 0;
    return __atomic_load_n(&memory_of(signal_)->value, __ATOMIC_ACQUIRE) == 0;
  }
  bool submitted() const { return submitted_; }
  uint64_t nanoseconds(hsa_agent_t agent) const {
    if (device_ != nullptr) return times_.end_ns - times_.start_ns;
    hsa_amd_profiling_dispatch_time_t times{};
    hsa.amd.hsa_amd_profiling_get_dispatch_time_fn(agent, signal_, &times);
    return times.end - times.start;
  }

 private:
  // On the software device, the device's own record decides, because kernels can overwrite signals.
  bool ended() {
    if (device_ == nullptr) return completed(signal_);
    if (device_->take_dispatch(signal_.handle, &times_, nullptr, nullptr) == 0) return false;
    device_->record_dispatches(0);
    // The signal changes right after the record, unless the kernel has overwritten it.
    for (const double began = seconds(); !completed(signal_) && seconds() - began < 1;) std::this_thread::yield();
    return true;
  }

  const Packet packet_;
  const rpd_api* const device_ = find_device();
  rpd_dispatch times_{};
  hsa_signal_t signal_{};
  bool submitted_ = false;
};

std::string written(uint64_t bytes, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f MB written in %.3f s", static_cast<double>(bytes) / 1e6, seconds);
  return text;
}

// Notes which memory and services a replay will lack, as far as the compiler's metadata reveals them.
void note_what_arguments_say(const LoadedKernel& kernel, std::span<const unsigned char> kernarg,
                             const std::vector<capture::Region>& regions, capture::Dispatch& dispatch) {
  const auto metadata = capture::code_metadata(*kernel.object->file);
  const capture::KernelMetadata* described = metadata ? metadata->find(kernel.kernel.symbol) : nullptr;
  if (described == nullptr) return;
  for (std::string& text : uncaptured_pointers(kernarg, *described, regions)) dispatch.not_captured.push_back(std::move(text));
  for (const capture::KernelArgument& argument : described->arguments)
    if (argument.kind == "hidden_hostcall_buffer")
      dispatch.warnings.push_back(
          "the kernel may call the host (printf, assert): if it does, a replay has no host side to answer, and fails or waits "
          "forever");
}

void capture_to(capture::Writer& writer, const DispatchToCapture& chosen, DispatchWithOwnSignal& own_dispatch,
                const std::function<void(const Packet&)>& submit) {
  const LoadedKernel& kernel = *chosen.kernel;
  if (!kernel.object->file) throw std::runtime_error("the code object of " + kernel.kernel.name + " cannot be read");
  capture::Dispatch dispatch;
  dispatch.kernel = kernel.kernel;
  dispatch.packet = packet_of(chosen.packet.dispatch);
  dispatch.code = kernel.object->location;
  dispatch.variables = kernel.object->variables;
  dispatch.origin = origin(chosen);
  dispatch.not_captured = memory_map().foreign();
  const std::vector<Source> sources = readable(memory_map().regions(loaded_code()), dispatch.not_captured);
  std::vector<capture::Region> regions;
  for (const Source& source : sources) regions.push_back(source.region);
  dispatch.argument_allocations = argument_allocations(regions);

  const auto access = memory_access(chosen.agent, settings().staged_copies);
  dispatch.descriptor = hexadecimal(bytes_at(*access, sources, dispatch.packet.kernel_object, 64, "the kernel descriptor"));
  const auto kernarg =
      bytes_at(*access, sources, dispatch.packet.kernarg_address, kernel.kernel.kernarg_bytes, "the kernel's arguments");
  note_what_arguments_say(kernel, kernarg, regions, dispatch);

  Snapshot snapshot(writer, *access, sources);
  writer.begin(regions);
  const double began = seconds();
  snapshot.write_before();
  const double elapsed = seconds() - began;
  const uint64_t stored = writer.bytes_stored();
  own_dispatch.run(submit);
  dispatch.completed = own_dispatch.succeeded();
  if (dispatch.completed) {
    dispatch.origin.gpu_time_ns = own_dispatch.nanoseconds(chosen.agent);
    snapshot.write_changes();
  } else {
    dispatch.warnings.push_back("the kernel failed when it was captured: memory after the kernel was not captured");
  }
  writer.finish(dispatch, kernarg, *kernel.object->file);
  report("note", written(stored, elapsed));
  for (const std::string& text : dispatch.not_captured) report("note", "not captured: " + text);
  for (const std::string& text : dispatch.warnings) report("note", text);
}

// Picks the first free name for the folder. A process captures only once, but an earlier process may have had the same id.
std::string new_folder() {
  std::error_code error;
  std::filesystem::create_directories(settings().folder, error);
  const std::string name = settings().folder + "/isolate_capture_" + std::to_string(getpid());
  std::string path = name;
  for (int i = 1; std::filesystem::exists(std::filesystem::symlink_status(path, error)); ++i)
    path = name + "_" + std::to_string(i);
  return path;
}

}  // namespace

void report_failure(const std::string& why, const char* event) noexcept {
  try {
    report(event, "no capture: " + why);
  } catch (const std::exception&) {
    // There is no way left to report it.
  }
}

void capture_dispatch(const DispatchToCapture& chosen, const std::function<void(const Packet&)>& submit) noexcept {
  std::optional<DispatchWithOwnSignal> own_dispatch;
  try {
    const FileSizeSignalBlocked blocked;
    own_dispatch.emplace(chosen.packet);
    const std::string folder = new_folder();
    record("begun", folder);  // before the folder exists, so that it is known whenever the program is killed
    capture::Writer writer(folder, settings().zstd_level);
    try {
      capture_to(writer, chosen, *own_dispatch, submit);
      report("captured", "captured to " + folder);
    } catch (const std::exception& error) {
      writer.abandon(error.what());
      throw;
    }
  } catch (const capture::FileError& error) {
    report_failure(error.what(), "unwritable");
  } catch (const std::exception& error) {
    report_failure(error.what());
  }
  if (!own_dispatch || !own_dispatch->submitted()) submit(chosen.packet);
}

}  // namespace rpd::isolate
