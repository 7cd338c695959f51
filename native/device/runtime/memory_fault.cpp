#include "runtime/memory_fault.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace rpd {
namespace {

struct Aperture {
  std::atomic<uint64_t> base{0};
  std::atomic<uint64_t> size{0};
};
constexpr int kMaxDevices = 16;
Aperture apertures[kMaxDevices];
std::atomic<int> aperture_count{0};
struct sigaction previous_segv, previous_bus;

// Only what is allowed in a signal handler.
void write_fault(uint64_t device_address) {
  char line[] = "rocm-perf-device: memory access fault: a kernel or copy accessed device address "
                "0x0000000000000000, which is not allocated\n";
  char* digits = std::strstr(line, "0x") + 2;
  for (int i = 15; i >= 0; --i, device_address >>= 4) digits[i] = "0123456789abcdef"[device_address & 15];
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  for (int i = 0; i < aperture_count.load(); ++i) {
    const uint64_t offset = address - apertures[i].base;
    if (offset >= apertures[i].size) continue;
    write_fault(offset);
    std::abort();
  }
  const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  std::signal(signal, SIG_DFL);  // the access repeats, and then has its usual end
}

void install() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace

void report_memory_faults_in(void* aperture, uint64_t size) {
  const int index = aperture_count.load();
  if (index == kMaxDevices) return;
  apertures[index].base = reinterpret_cast<uint64_t>(aperture);
  apertures[index].size = size;
  aperture_count.store(index + 1);
  if (index == 0) install();
}

}  // namespace rpd
