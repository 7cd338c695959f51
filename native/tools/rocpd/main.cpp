// rocmperf-rocpd-writer: turns the spool of a traced process into a rocpd database next to it.
//
//   rocmperf-rocpd-writer SPOOL          run by hand, for a spool that was left behind
//   rocmperf-rocpd-writer --after PID    run by the tracer: waits until the process is gone. Descriptor 3 is the read end of
//                                        a pipe that only that process holds open; if the process creates a spool, it sends
//                                        SPOOL through this pipe
//
// SPOOL is <database>.spool. The database gets its final name only once it is complete; if the conversion fails,
// <database>.error contains the reason. While it works, the writer keeps touching <database>.partial.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "rocpd/database.h"
#include "rocpd/spool_reader.h"
#include "rocpd/trace_metadata.h"
#include "rocpd/write_database.h"

namespace {

using namespace rpd::rocpd;

constexpr std::string_view kSpoolSuffix = ".spool";
constexpr int kPipe = 3;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

// Stops being a child of the traced process, which must neither wait for this process nor receive its SIGCHLD later.
void leave_family() {
  const pid_t child = fork();
  if (child > 0) _exit(0);
}

// The pipe is closed when the process ends, or when it closes every descriptor that it finds, as some programs do; the pid
// descriptor, if the kernel provides one, tells the two cases apart. Returns the text received through the pipe.
std::string wait_until_gone(int process) {
  std::string said;
  char part[4096];
  ssize_t bytes;
  while ((bytes = read(kPipe, part, sizeof part)) > 0 || (bytes < 0 && errno == EINTR))
    if (bytes > 0) said.append(part, static_cast<size_t>(bytes));
  if (process < 0) return said;
  pollfd exit_of_process{process, POLLIN, 0};
  while (poll(&exit_of_process, 1, -1) < 0 && errno == EINTR) {
  }
  return said;
}

void sync_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool ok = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!ok) throw std::runtime_error(std::string("cannot write it to disk: ") + std::strerror(error));
}

void convert(const std::string& spool, const std::string& database, uint64_t end_ns) {
  const std::string partial = database + ".partial";
  unlink(partial.c_str());
  std::ofstream{partial};
  SpoolReader reader(spool);
  // The timestamp of this file tells any process waiting for the database that work is in progress, even while the spool is
  // only being read.
  reader.on_progress([&] { utimensat(AT_FDCWD, partial.c_str(), nullptr, 0); });
  write_database(reader, read_trace_metadata(reader), end_ns, partial);
  sync_file(partial);
  if (rename(partial.c_str(), database.c_str()) != 0)
    throw std::runtime_error(std::string("cannot give it its final name: ") + std::strerror(errno));
  unlink(spool.c_str());
}

int report(const std::string& spool, const std::string& database, const std::string& why) {
  const std::string message = "rocm-perf tracer: no database " + database + ": " + why +
                              "; the spool is kept, retry with: rocmperf-rocpd-writer " + spool + "\n";
  unlink((database + ".partial").c_str());
  std::fputs(message.c_str(), stderr);
  std::ofstream(database + ".error") << why << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is then a write error and is reported as one
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  if (argc != 2 && !(argc == 3 && std::strcmp(argv[1], "--after") == 0)) {
    std::fprintf(stderr, "usage: rocmperf-rocpd-writer DATABASE.spool\n");
    return 64;
  }
  std::string spool = argv[1];
  if (argc == 3) {
    const int process = static_cast<int>(syscall(SYS_pidfd_open, std::atoi(argv[2]), 0));
    leave_family();
    spool = wait_until_gone(process);
    if (spool.empty()) return 0;  // the process ended before it began to record
  }
  if (!spool.ends_with(kSpoolSuffix)) {
    std::fprintf(stderr, "rocmperf-rocpd-writer: %s is not called <database>.spool\n", spool.c_str());
    return 64;
  }
  const std::string database = spool.substr(0, spool.size() - kSpoolSuffix.size());
  try {
    convert(spool, database, now_ns());
    return 0;
  } catch (const std::exception& error) {
    return report(spool, database, error.what());
  }
}
