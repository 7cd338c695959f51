// An HSA tools library that counts every dispatch with AMD's aqlprofile, as rocprofiler-sdk does: around each dispatch it puts
// packets of PM4 commands that choose, start, read and stop performance counters.
//
// COUNTED_EVENTS: "BLOCK:EVENT ...", as in "SQ:4 TCC:17"; COUNTED_INTO: a file that gets one line for each dispatch, with the
// sum over all instances and the number of instances for each event: "SUM/INSTANCES ...".
#include <aqlprofile-sdk/aql_profile_v2.h>
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

CoreApiTable core;
AmdExtTable amd;

[[noreturn]] void fail(const std::string& operation, int status) {
  std::fprintf(stderr, "aqlprofile_counters: %s failed with %d\n", operation.c_str(), status);
  std::abort();
}

#define CHECK(CALL)                                                                          \
  do {                                                                                       \
    if (const hsa_status_t status = CALL; status != HSA_STATUS_SUCCESS) fail(#CALL, status); \
  } while (false)

hsa_ven_amd_aqlprofile_block_name_t block_of(const std::string& name) {
  static const std::map<std::string, hsa_ven_amd_aqlprofile_block_name_t> blocks = {
      {"SQ", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ},     {"TA", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA},
      {"TD", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD},     {"TCP", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP},
      {"TCC", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC},   {"GL2C", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2C},
      {"GRBM", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM}, {"SPI", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI},
      {"CPC", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC},   {"CPF", HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF},
  };
  return blocks.at(name);
}

struct Chosen {
  hsa_ven_amd_aqlprofile_block_name_t block;
  uint32_t event;
};

std::vector<Chosen> chosen_events() {
  std::vector<Chosen> events;
  std::istringstream words(std::getenv("COUNTED_EVENTS"));
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    events.push_back({block_of(word.substr(0, colon)), static_cast<uint32_t>(std::stoul(word.substr(colon + 1)))});
  }
  return events;
}

hsa_amd_memory_pool_t host_pool{};

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* result) {
  bool allocates = false;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates);
  if (!allocates || segment != HSA_AMD_SEGMENT_GLOBAL || !(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED))
    return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(result) = pool;
  return HSA_STATUS_INFO_BREAK;
}

hsa_status_t find_host(hsa_agent_t agent, void* result) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
  hsa_amd_agent_iterate_memory_pools(agent, find_pool, result);
  return HSA_STATUS_INFO_BREAK;
}

struct Gpu {
  hsa_agent_t agent;
  aqlprofile_agent_handle_t handle;
};

hsa_status_t allocate(void** memory, uint64_t bytes, aqlprofile_buffer_desc_flags_t, void* gpu) {
  if (!host_pool.handle) hsa_iterate_agents(find_host, &host_pool);
  CHECK(hsa_amd_memory_pool_allocate(host_pool, bytes, 0, memory));
  CHECK(hsa_amd_agents_allow_access(1, &static_cast<Gpu*>(gpu)->agent, nullptr, *memory));
  std::memset(*memory, 0, bytes);
  return HSA_STATUS_SUCCESS;
}
void release(void* memory, void*) { hsa_amd_memory_pool_free(memory); }
hsa_status_t copy(void* to, const void* from, size_t bytes, void*) {
  std::memcpy(to, from, bytes);
  return HSA_STATUS_SUCCESS;
}

template <class T>
T of_agent(hsa_agent_t agent, uint32_t attribute) {
  T value{};
  CHECK(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value));
  return value;
}

Gpu& gpu_of(hsa_agent_t agent) {
  static std::map<uint64_t, Gpu> gpus;
  const auto [entry, is_new] = gpus.try_emplace(agent.handle);
  if (is_new) {
    char name[64];
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name));
    const aqlprofile_agent_info_t info{name, of_agent<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_XCC),
                                       of_agent<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES),
                                       of_agent<uint32_t>(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
                                       of_agent<uint32_t>(agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE)};
    entry->second.agent = agent;
    CHECK(aqlprofile_register_agent_info(&entry->second.handle, &info, AQLPROFILE_AGENT_VERSION_V0));
  }
  return entry->second;
}

// An event on each instance of its block.
void add_instances(const Gpu& gpu, const Chosen& chosen, std::vector<aqlprofile_pmc_event_t>& events) {
  aqlprofile_pmc_event_t event{0, chosen.event, {0}, chosen.block};
  bool valid = true;
  for (; aqlprofile_validate_pmc_event(gpu.handle, &event, &valid) == HSA_STATUS_SUCCESS && valid; ++event.block_index)
    events.push_back(event);
  if (event.block_index == 0) fail("aqlprofile_validate_pmc_event", HSA_STATUS_ERROR);
}

struct Sums {
  std::vector<Chosen> events = chosen_events();
  std::vector<unsigned long long> sums = std::vector<unsigned long long>(events.size()), instances = sums;
};

hsa_status_t add(aqlprofile_pmc_event_t event, uint64_t, uint64_t value, void* data) {
  auto& all = *static_cast<Sums*>(data);
  for (size_t i = 0; i < all.events.size(); ++i)
    if (all.events[i].block == event.block_name && all.events[i].event == event.event_id) {
      all.sums[i] += value;
      ++all.instances[i];
    }
  return HSA_STATUS_SUCCESS;
}

void write_down(aqlprofile_handle_t counted) {
  static std::FILE* file = std::fopen(std::getenv("COUNTED_INTO"), "w");
  Sums all;
  CHECK(aqlprofile_pmc_iterate_data(counted, add, &all));
  for (size_t i = 0; i < all.sums.size(); ++i) std::fprintf(file, "%llu/%llu ", all.sums[i], all.instances[i]);
  std::fprintf(file, "\n");
  std::fflush(file);
}

hsa_ext_amd_aql_pm4_packet_t with_header(hsa_ext_amd_aql_pm4_packet_t packet, hsa_signal_t signal) {
  packet.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  packet.completion_signal = signal;
  return packet;
}

// The program's packets, and around each dispatch those that count it. Returns when the last of them has been run.
void count_dispatches(const void* packets, uint64_t count, uint64_t, void* data, hsa_amd_queue_intercept_packet_writer write) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto& gpu = *static_cast<Gpu*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    const auto* packet = static_cast<const hsa_kernel_dispatch_packet_t*>(packets) + i;
    if ((packet->header >> HSA_PACKET_HEADER_TYPE & 0xff) != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      write(packet, 1);
      continue;
    }
    std::vector<aqlprofile_pmc_event_t> events;
    for (const Chosen& chosen : chosen_events()) add_instances(gpu, chosen, events);
    aqlprofile_handle_t handle;
    aqlprofile_pmc_aql_packets_t commands;
    CHECK(aqlprofile_pmc_create_packets(&handle, &commands, {gpu.handle, events.data(), static_cast<uint32_t>(events.size())},
                                        allocate, release, copy, &gpu));
    hsa_signal_t done;
    CHECK(hsa_signal_create(1, 0, nullptr, &done));
    const auto start = with_header(commands.start_packet, {}), read = with_header(commands.read_packet, {}),
               stop = with_header(commands.stop_packet, done);
    hsa_kernel_dispatch_packet_t dispatch = *packet;
    dispatch.header |= 1 << HSA_PACKET_HEADER_BARRIER;
    write(&start, 1);
    write(&dispatch, 1);
    write(&read, 1);
    write(&stop, 1);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    write_down(handle);
    aqlprofile_pmc_delete_packets(handle);
    hsa_signal_destroy(done);
  }
}

hsa_status_t create_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                          uint32_t group_bytes, hsa_queue_t** queue) {
  CHECK(amd.hsa_amd_queue_intercept_create_fn(agent, size, type, callback, data, private_bytes, group_bytes, queue));
  return amd.hsa_amd_queue_intercept_register_fn(*queue, count_dispatches, &gpu_of(agent));
}

template <class Table>
void copy_table(Table& to, const Table& from) {
  std::memcpy(static_cast<void*>(&to), &from, std::min<size_t>(sizeof to, from.version.minor_id));
}

}  // namespace

extern "C" bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  copy_table(core, *table->core_);
  copy_table(amd, *table->amd_ext_);
  table->core_->hsa_queue_create_fn = create_queue;
  return true;
}

extern "C" void OnUnload() {}
