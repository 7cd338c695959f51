// Replays one captured kernel dispatch, with its memory at the captured addresses. Needs only ROCm.
//
//   ./reproducer [ITERATIONS]      exit status 0: memory after the kernel is as captured; 1: it differs; 2: cannot run
//
// case.h describes what was captured; memory/ holds every region before the kernel and, if the kernel changed it, after it.
#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "case.h"
#include "rocm_perf_device.h"

namespace {

[[noreturn]] void give_up(const char* what, uint64_t address = 0) {
  std::fprintf(stderr, "reproducer: %s (0x%llx)\n", what, static_cast<unsigned long long>(address));
  std::exit(2);
}

void check(hsa_status_t status, const char* what, uint64_t address = 0) {
  const char* text = "";
  if (status == HSA_STATUS_SUCCESS) return;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "reproducer: %s\n", text);
  give_up(what, address);
}

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

// ---- where memory and code belong ----

// ROCr's loader offers no choice of address for code, but uses the address that mmap returns. The libraries that a program has
// loaded call its own mmap, if it defines one, instead of the C library's.
uint64_t code_wanted_at = 0;

// Called before ROCr starts, so that ROCr does not use these addresses. The process's own memory is at random addresses: if it
// is in the way, start again.
void reserve_addresses(char** words) {
  for (const Region& region : regions) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap(at(region.base), region.bytes, PROT_NONE, flags, -1, 0) == at(region.base)) continue;
    const char* attempt = std::getenv("REPRODUCER_ATTEMPT");
    const int number = attempt ? std::atoi(attempt) : 0;
    if (number >= 16) give_up("these addresses are not available here", region.base);
    setenv("REPRODUCER_ATTEMPT", std::to_string(number + 1).c_str(), 1);
    execv("/proc/self/exe", words);
  }
}

// ---- the GPU ----

hsa_agent_t gpu{};
hsa_amd_memory_pool_t pool{};

hsa_status_t on_agent(hsa_agent_t agent, void*) {
  char name[64] = {};
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
  if (type == HSA_DEVICE_TYPE_GPU && gpu.handle == 0 && std::strcmp(name, agent_name) == 0) gpu = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_pool(hsa_amd_memory_pool_t candidate, void*) {
  hsa_amd_segment_t segment{};
  uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(candidate, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  hsa_amd_memory_pool_get_info(candidate, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (segment == HSA_AMD_SEGMENT_GLOBAL && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)) pool = candidate;
  return HSA_STATUS_SUCCESS;
}

// rocm-perf-lab's software device, if ROCr runs on it; null on a GPU.
const rpd_api* software_device() {
  const char* path = std::getenv("HSA_MODEL_LIB");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  const auto get = library ? reinterpret_cast<rpd_get_api_fn>(dlsym(library, "rpd_get_api")) : nullptr;
  const rpd_api* api = get ? get() : nullptr;
  if (api && api->version != RPD_API_VERSION) give_up("the software device has a different version");
  return api;
}

const rpd_api* device = nullptr;
uint64_t kernel = kernel_object;

std::vector<char> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up(("cannot read " + path).c_str());
  return {std::istreambuf_iterator<char>(file), {}};
}

void load_code(const Region& region) {
  munmap(at(region.base), region.bytes);
  static const std::vector<char> file = content_of("kernel.hsaco");
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  code_wanted_at = region.base;
  check(hsa_code_object_reader_create_from_memory(file.data(), file.size(), &reader), "kernel.hsaco");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable), "executable");
  check(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr), "loading kernel.hsaco");
  check(hsa_executable_freeze(executable, nullptr), "freezing kernel.hsaco");
  code_wanted_at = 0;
  check(hsa_executable_get_symbol_by_name(executable, kernel_symbol, &gpu, &symbol), "kernel symbol");
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel), "kernel object");
  if (kernel != kernel_object) give_up("the code cannot be loaded at its captured address", kernel);
}

void map_on_gpu(const Region& region) {
  if (region.kind == Kind::loaded_code) return load_code(region);
  if (region.kind == Kind::host) {
    void* seen = nullptr;
    if (mmap(at(region.base), region.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      give_up(std::strerror(errno), region.base);
    check(hsa_amd_memory_lock(at(region.base), region.bytes, &gpu, 1, &seen), "locking host memory", region.base);
    if (seen != at(region.base)) give_up("the GPU sees host memory at another address", region.base);
    return;
  }
  munmap(at(region.base), region.bytes);
  void* got = nullptr;
  hsa_amd_vmem_alloc_handle_t handle{};
  const hsa_amd_memory_access_desc_t access{HSA_ACCESS_PERMISSION_RW, gpu};
  check(hsa_amd_vmem_address_reserve(&got, region.bytes, region.base, 0), "reserving addresses", region.base);
  if (got != at(region.base)) give_up("ROCr chose other addresses", region.base);
  check(hsa_amd_vmem_handle_create(pool, region.bytes, MEMORY_TYPE_NONE, 0, &handle), "memory", region.base);
  check(hsa_amd_vmem_map(got, region.bytes, 0, handle, 0), "mapping", region.base);
  check(hsa_amd_vmem_set_access(got, region.bytes, &access, 1), "access", region.base);
}

void map_on_software_device(const Region& region) {
  if (region.base >= device->aperture_size()) {
    if (mmap(at(region.base), region.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      give_up(std::strerror(errno), region.base);
  } else if (const int error = device->map_memory(region.base, region.bytes)) {
    give_up(std::strerror(error), region.base);
  }
}

// ---- memory ----

struct Image {
  const unsigned char *before, *after;
};
std::vector<Image> images;

const unsigned char* mapped(const std::string& path, uint64_t bytes) {
  const int file = open(path.c_str(), O_RDONLY);
  void* memory = file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) give_up(("cannot read " + path).c_str());
  close(file);
  return static_cast<const unsigned char*>(memory);
}

void read_images() {
  for (const Region& region : regions) {
    char name[64];
    std::snprintf(name, sizeof name, "memory/region_%llx", static_cast<unsigned long long>(region.base));
    const unsigned char* before = mapped(std::string(name) + ".bin", region.bytes);
    images.push_back({before, region.changed ? mapped(std::string(name) + ".after.bin", region.bytes) : before});
  }
}

void restore() {
  for (size_t i = 0; i < images.size(); ++i) {
    if (device)
      std::memcpy(device->host_address(regions[i].base), images[i].before, regions[i].bytes);
    else
      check(hsa_memory_copy(at(regions[i].base), images[i].before, regions[i].bytes), "restoring", regions[i].base);
  }
}

bool compare() {
  bool equal = true;
  std::vector<unsigned char> found;
  for (size_t i = 0; i < images.size(); ++i) {
    found.resize(regions[i].bytes);
    if (device)
      std::memcpy(found.data(), device->host_address(regions[i].base), found.size());
    else
      check(hsa_memory_copy(found.data(), at(regions[i].base), found.size()), "reading", regions[i].base);
    size_t different = 0, first = 0;
    for (size_t k = 0; k < found.size(); ++k)
      if (found[k] != images[i].after[k]) first = different++ ? first : k;
    if (different)
      std::printf("different: %zu of %zu bytes at 0x%llx, the first at 0x%llx\n", different, found.size(),
                  static_cast<unsigned long long>(regions[i].base), static_cast<unsigned long long>(regions[i].base + first));
    equal &= different == 0;
  }
  return equal;
}

// ---- the dispatch ----

double milliseconds_of_one_run(hsa_queue_t* queue, hsa_signal_t signal) {
  hsa_signal_store_relaxed(signal, 1);
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  auto* slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
  hsa_kernel_dispatch_packet_t packet = dispatch;
  packet.kernel_object = kernel;
  packet.completion_signal = signal;
  std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<char*>(&packet) + 4, sizeof packet - 4);
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), header | uint32_t{packet.setup} << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  hsa_amd_profiling_dispatch_time_t times{};
  uint64_t frequency = 1;
  hsa_amd_profiling_get_dispatch_time(gpu, signal, &times);
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  return static_cast<double>(times.end - times.start) * 1e3 / static_cast<double>(frequency);
}

void on_queue_error(hsa_status_t status, hsa_queue_t*, void*) { check(status, "the kernel failed"); }

}  // namespace

extern "C" void* mmap(void* address, size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  constexpr uint64_t kGuardPage = 4096;  // ROCr leaves one page free on either side of the code
  if (code_wanted_at != 0 && address == nullptr && rights == PROT_NONE) {
    const long got = syscall(SYS_mmap, code_wanted_at - kGuardPage, bytes, rights, flags | MAP_FIXED_NOREPLACE, file, offset);
    if (got != -1) return reinterpret_cast<void*>(got);
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, rights, flags, file, offset));
}

int main(int count, char** words) {
  const int iterations = count > 1 ? std::max(1, std::atoi(words[1])) : 10;
  reserve_addresses(words);
  check(hsa_init(), "ROCr does not start");
  hsa_iterate_agents(on_agent, nullptr);
  if (gpu.handle == 0) give_up("there is no GPU of the captured type");
  hsa_amd_agent_iterate_memory_pools(gpu, on_pool, nullptr);
  device = software_device();
  for (const Region& region : regions) device ? map_on_software_device(region) : map_on_gpu(region);
  read_images();
  std::printf("%s on %s, memory at its captured addresses\n", kernel_name, device ? device->device : agent_name);

  hsa_queue_t* queue = nullptr;
  hsa_signal_t signal{};
  check(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &queue), "queue");
  check(hsa_signal_create(1, 0, nullptr, &signal), "signal");
  hsa_amd_profiling_set_profiler_enabled(queue, 1);
  std::vector<double> times;
  for (int i = 0; i < iterations; ++i) {
    restore();
    times.push_back(milliseconds_of_one_run(queue, signal));
  }
  std::sort(times.begin(), times.end());
  std::printf("GPU time of %d iterations: min %.6f ms, median %.6f ms, max %.6f ms (%s)\n", iterations, times.front(),
              times[times.size() / 2], times.back(), device ? device->timing : "measured");
  const bool equal = compare();
  std::printf("memory after the kernel: %s\n", equal ? "as captured" : "DIFFERENT");
  hsa_signal_destroy(signal);
  hsa_queue_destroy(queue);
  hsa_shut_down();
  return equal ? 0 : 1;
}
