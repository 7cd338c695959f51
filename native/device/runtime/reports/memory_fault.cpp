#include "runtime/reports/memory_fault.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/hooks/hooks.h"
#include "runtime/reports/log.h"

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

// Read in a signal handler, so its thread-local storage must not be allocated lazily.
[[gnu::tls_model("initial-exec")]] thread_local int accesses = 0;

struct EventHandler {
  hsa_amd_system_event_callback_t function;
  void* data;
};
std::mutex handlers_mutex;
std::vector<EventHandler>& handlers() {
  static auto* list = new std::vector<EventHandler>;
  return *list;
}

constexpr char kPage[] = "Page not present or supervisor privilege.";

// ---- signals: only operations that are allowed in a handler ----

uint64_t device_address(uint64_t host_address) {
  for (int i = 0; i < aperture_count.load(); ++i) {
    const uint64_t offset = host_address - apertures[i].base;
    if (offset < apertures[i].size) return offset;
  }
  return host_address;
}

void write_fault(uint64_t address) {
  char line[] =
      "rocm-perf-device: memory access fault: a kernel or copy accessed device address "
      "0x0000000000000000, which is not allocated\n";
  char* digits = std::strstr(line, "0x") + 2;
  for (int i = 15; i >= 0; --i, address >>= 4) digits[i] = "0123456789abcdef"[address & 15];
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;  // sent by kill or raise, not caused by an access
  if (accesses > 0 && !sent) {
    write_fault(device_address(reinterpret_cast<uint64_t>(info->si_addr)));
    std::abort();
  }
  const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  if (previous.sa_handler == SIG_IGN && sent) return;
  std::signal(signal, SIG_DFL);  // the access is repeated, now with the default effect
  if (sent) raise(signal);       // delivered once this handler returns
}

void install() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

// ---- faults found before the access ----

struct Search {
  uint32_t node;
  hsa_agent_t agent{};
};

hsa_status_t take_agent_of_node(hsa_agent_t agent, void* data) {
  auto* search = static_cast<Search*>(data);
  uint32_t node = 0;
  constexpr auto kNode = static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
  if (original().core.hsa_agent_get_info_fn(agent, kNode, &node) != HSA_STATUS_SUCCESS || node != search->node)
    return HSA_STATUS_SUCCESS;
  search->agent = agent;
  return HSA_STATUS_INFO_BREAK;
}

hsa_agent_t agent_of(uint32_t node) {
  Search search{node};
  if (original().core.hsa_iterate_agents_fn) original().core.hsa_iterate_agents_fn(take_agent_of_node, &search);
  return search.agent;
}

bool program_handles(hsa_agent_t agent, uint64_t address) {
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault.agent = agent;
  event.memory_fault.virtual_address = address;
  event.memory_fault.fault_reason_mask = HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT;
  const std::lock_guard lock(handlers_mutex);
  bool handled = false;
  for (const EventHandler& handler : handlers()) handled |= handler.function(&event, handler.data) == HSA_STATUS_SUCCESS;
  return handled;
}

}  // namespace

void report_memory_fault(const std::string& message, uint64_t address, uint32_t node) {
  report_error("%s", message.c_str());
  constexpr uint64_t kPageBytes = 4096;
  const uint64_t page = address & ~(kPageBytes - 1);  // hardware reports only the page
  const hsa_agent_t agent = agent_of(node);
  if (program_handles(agent, page)) return;
  std::fprintf(stderr, "Memory access fault by GPU node-%u (Agent handle: %p) on address %p. Reason: %s\n", node,
               reinterpret_cast<void*>(agent.handle), reinterpret_cast<void*>(page), kPage);
  std::abort();
}

FaultReportScope::FaultReportScope() { ++accesses; }
FaultReportScope::~FaultReportScope() { --accesses; }

void add_system_event_handler(hsa_amd_system_event_callback_t handler, void* data) {
  const std::lock_guard lock(handlers_mutex);
  handlers().push_back({handler, data});
}

void report_memory_faults_in(void* aperture, uint64_t size) {
  const int index = aperture_count.load();
  if (index == kMaxDevices) return;
  apertures[index].base = reinterpret_cast<uint64_t>(aperture);
  apertures[index].size = size;
  aperture_count.store(index + 1);
  if (index == 0) install();
}

}  // namespace rpd
