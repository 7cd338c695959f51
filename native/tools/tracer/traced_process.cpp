#include "tracer/traced_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "spool/json.h"
#include "tracer/recorder.h"
#include "tracer/software_device.h"

extern char** environ;

namespace rpd::tracer {
namespace {

namespace fs = std::filesystem;

int writer_pipe = -1;
int writers_end = -1;  // the other end of the same pipe

std::string with_pid(std::string path) {
  const std::string pid = std::to_string(getpid());
  for (size_t position = path.find("%p"); position != std::string::npos; position = path.find("%p", position + pid.size()))
    path.replace(position, 2, pid);
  return path;
}

std::string second_choice(const fs::path& path) {
  const std::string name = path.stem().string() + "_" + std::to_string(getpid()) + path.extension().string();
  return path.parent_path() / name;
}

// Creating the spool with O_EXCL claims the name; the process that has claimed it then checks whether the database already
// exists.
int claim(const std::string& database) {
  const std::string spool = database + ".spool";
  if (const int error = the_spool().create(spool)) return error;
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(database, ignored))) return 0;
  unlink(spool.c_str());
  return EEXIST;
}

bool is_executable(const fs::path& path) { return access(path.c_str(), X_OK) == 0; }

// Both install and build trees have lib/ next to bin/.
fs::path find_writer() {
  if (const char* path = std::getenv("ROCM_PERF_ROCPD_WRITER")) return path;
  Dl_info self{};
  dladdr(reinterpret_cast<const void*>(&find_writer), &self);
  std::error_code ignored;
  const fs::path folder = fs::canonical(self.dli_fname == nullptr ? "" : self.dli_fname, ignored).parent_path();
  const fs::path beside = folder / "rocmperf-rocpd-writer";
  return is_executable(beside) ? beside : folder.parent_path() / "bin" / "rocmperf-rocpd-writer";
}

uint64_t start_time_ns() {
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // Field 2 is the program's name in parentheses and may contain anything; field 22 is the start time in clock ticks.
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string field;
  for (int i = 3; i < 22; ++i) fields >> field;
  uint64_t ticks = 0;
  fields >> ticks;
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command, argument;
  while (std::getline(file, argument, '\0')) command += (command.empty() ? "" : " ") + argument;
  return command;
}

// Includes only variables that control ROCm and this tool: traces are shared with others, and an environment may hold
// credentials.
std::string environment_json() {
  static constexpr const char* kPrefixes[] = {
      "HSA_", "HIP_",        "ROCR_",           "ROCM_", "ROCP", "GPU_", "AMD_", "CUDA_VISIBLE_DEVICES=",
      "OMP_", "LD_PRELOAD=", "LD_LIBRARY_PATH="};
  spool::JsonObject object;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const char* prefix : kPrefixes) {
      if (!text.starts_with(prefix)) continue;
      const size_t equals = text.find('=');
      if (equals != std::string_view::npos) object.text(text.substr(0, equals), text.substr(equals + 1));
      break;
    }
  }
  return object.str();
}

}  // namespace

bool start_writer() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[0], 3);
  posix_spawn_file_actions_addclosefrom_np(&files, 4);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The writer gets a separate session: a Ctrl-C or a hang-up that ends the program must not end its writer.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);

  const std::string writer = find_writer();
  const std::string pid = std::to_string(getpid());
  const char* arguments[] = {writer.c_str(), "--after", pid.c_str(), nullptr};
  char* no_environment[] = {nullptr};  // mainly to leave out the variables that load this library
  pid_t child = 0;
  const int error = posix_spawn(&child, writer.c_str(), &files, &attributes, const_cast<char**>(arguments), no_environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  // The writer detaches from this process at once: a program that waits for all its children must not end up waiting for the
  // writer.
  if (error == 0) waitpid(child, nullptr, 0);
  if (error != 0) {
    close(ends[0]);
    close(ends[1]);
    std::fprintf(stderr, "rocm-perf tracer: cannot start %s: %s; running without a trace\n", writer.c_str(),
                 std::strerror(error));
    return false;
  }
  writers_end = ends[0];
  writer_pipe = ends[1];
  return true;
}

bool open_spool_for(const std::string& requested) {
  std::error_code error_code;
  const std::string first = fs::absolute(with_pid(requested), error_code);
  int error = claim(first);
  if (error == EEXIST) error = claim(second_choice(first));
  if (error == 0) {
    const std::string& path = the_spool().path();
    if (write(writer_pipe, path.data(), path.size()) != static_cast<ssize_t>(path.size())) {
      error = EIO;
      unlink(path.c_str());
    }
  }
  close(writers_end);  // kept open until here, so that a killed writer does not cause a SIGPIPE in this program
  writers_end = -1;
  if (error != 0) {
    forget_writer();
    std::fprintf(stderr, "rocm-perf tracer: cannot write %s.spool: %s; running without a trace\n", first.c_str(),
                 std::strerror(error));
  }
  return error == 0;
}

void forget_writer() {
  if (writer_pipe >= 0) close(writer_pipe);
  writer_pipe = -1;
}

void record_process() {
  spool::Process process{};
  process.pid = static_cast<uint32_t>(getpid());
  process.ppid = static_cast<uint32_t>(getppid());
  process.start_ns = start_time_ns();
  const rpd_api* device = find_device();
  record(spool::Kind::process, process,
         {command_line(), environment_json(), times_are_modelled() ? "modelled" : "measured",
          device == nullptr ? "" : device->device, device == nullptr ? "" : device->parameters_hash, RPD_VERSION});
}

}  // namespace rpd::tracer
