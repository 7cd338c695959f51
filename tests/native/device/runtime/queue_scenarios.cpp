// Drives the device's queues through plain HSA, one scenario per run: queue_scenarios <name>. Prints what went wrong
// and exits with 1, or prints the scenario's times (relative to the first) and exits with 0.
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const char* message, int line) {
  std::printf("line %d: %s\n", line, message);
  std::fflush(stdout);
  std::_Exit(1);
}
#define EXPECT(condition) ((condition) ? void() : fail(#condition, __LINE__))
#define OK(call) EXPECT((call) == HSA_STATUS_SUCCESS)

hsa_agent_t gpu, cpu;

void find_agents() {
  OK(hsa_iterate_agents(
      [](hsa_agent_t agent, void*) {
        hsa_device_type_t type;
        OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
        (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
  EXPECT(gpu.handle && cpu.handle);
}

struct Signal {
  hsa_signal_t handle;
  explicit Signal(hsa_signal_value_t value = 1) { OK(hsa_signal_create(value, 0, nullptr, &handle)); }
  ~Signal() { hsa_signal_destroy(handle); }
  Signal(const Signal&) = delete;

  bool completes(std::chrono::nanoseconds timeout = 30s) const {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (raw() > 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(100us);
    return raw() <= 0;
  }
  bool stays_pending() const { return !completes(50ms); }
  // The value in memory, regardless of the thread's modelled time.
  hsa_signal_value_t raw() const {
    return __atomic_load_n(&reinterpret_cast<const amd_signal_t*>(handle.handle)->value, __ATOMIC_ACQUIRE);
  }
  hsa_amd_profiling_dispatch_time_t times() const {
    hsa_amd_profiling_dispatch_time_t time;
    OK(hsa_amd_profiling_get_dispatch_time(gpu, handle, &time));
    return time;
  }
};

// The first dword of a command that `dwords` others follow.
constexpr uint32_t pm4(uint32_t opcode, uint32_t dwords) { return 3u << 30 | (dwords - 1) << 16 | opcode << 8; }

std::atomic<int> queue_error{HSA_STATUS_SUCCESS};

struct Queue {
  hsa_queue_t* queue;
  explicit Queue(uint32_t size = 64) {
    const auto on_error = [](hsa_status_t status, hsa_queue_t*, void*) { queue_error = status; };
    OK(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, on_error, nullptr, 0, 0, &queue));
  }
  ~Queue() { OK(hsa_queue_destroy(queue)); }

  // As any producer does: reserve, wait for room, write everything except the header, publish, ring.
  template <class Packet>
  void submit(Packet packet, uint8_t type, bool barrier = false) {
    static_assert(sizeof packet == 64);
    const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) std::this_thread::yield();
    char* slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
    uint32_t first;
    std::memcpy(&first, &packet, sizeof first);
    first = (first & 0xffff0000) | type << HSA_PACKET_HEADER_TYPE | barrier << HSA_PACKET_HEADER_BARRIER;
    std::memcpy(slot + 4, reinterpret_cast<char*>(&packet) + 4, 60);
    __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  void barrier(const std::vector<hsa_signal_t>& dependencies, hsa_signal_t completion,
               uint8_t type = HSA_PACKET_TYPE_BARRIER_AND) {
    hsa_barrier_and_packet_t packet{};
    for (size_t i = 0; i < dependencies.size(); ++i) packet.dep_signal[i] = dependencies[i];
    packet.completion_signal = completion;
    submit(packet, type);
  }

  // A packet that points to PM4 commands.
  void commands(uint64_t address, size_t dwords, hsa_signal_t completion) {
    struct {
      uint32_t words[14];
      hsa_signal_t completion_signal;
    } packet{{1u << 16, pm4(0x3f, 3), static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32),
              static_cast<uint32_t>(dwords), 10},
             completion};
    submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  }

  void barrier_value(hsa_signal_t signal, hsa_signal_condition_t condition, int64_t value, int64_t mask,
                     hsa_signal_t completion) {
    hsa_amd_barrier_value_packet_t packet{};
    packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    packet.signal = signal;
    packet.cond = condition;
    packet.value = value;
    packet.mask = mask;
    packet.completion_signal = completion;
    submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  }
};

void ring_wraps() {
  constexpr int kPackets = 1000;
  Queue queue(64);
  Signal done(kPackets);
  for (int i = 0; i < kPackets; ++i) queue.barrier({}, done.handle);
  EXPECT(done.completes());
  EXPECT(hsa_queue_load_read_index_scacquire(queue.queue) == kPackets);
  for (uint32_t i = 0; i < queue.queue->size; ++i)
    EXPECT(static_cast<hsa_barrier_and_packet_t*>(queue.queue->base_address)[i].header == HSA_PACKET_TYPE_INVALID);
}

void many_producers() {
  constexpr int kThreads = 4, kPackets = 500;
  Queue queue(64);
  Signal done(kThreads * kPackets);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kPackets; ++i) queue.barrier({}, done.handle);
    });
  for (auto& thread : threads) thread.join();
  EXPECT(done.completes());
  EXPECT(done.raw() == 0);
}

void barrier_and() {
  Queue queue;
  Signal dependencies[5], done, behind;
  std::vector<hsa_signal_t> handles;
  for (auto& signal : dependencies) handles.push_back(signal.handle);
  queue.barrier(handles, done.handle);
  queue.barrier({}, behind.handle);
  for (auto& signal : dependencies) {
    EXPECT(done.stays_pending());
    EXPECT(behind.raw() == 1);
    hsa_signal_subtract_screlease(signal.handle, 1);
  }
  EXPECT(done.completes());
  EXPECT(behind.completes());
}

void barrier_or() {
  Queue queue;
  Signal never, one, done;
  queue.barrier({never.handle, one.handle}, done.handle, HSA_PACKET_TYPE_BARRIER_OR);
  EXPECT(done.stays_pending());
  hsa_signal_store_screlease(one.handle, 0);
  EXPECT(done.completes());
  Signal empty;
  queue.barrier({}, empty.handle, HSA_PACKET_TYPE_BARRIER_OR);
  EXPECT(empty.completes());
}

void barrier_value() {
  struct Case {
    hsa_signal_condition_t condition;
    int64_t reference, mask, before, after;
  };
  const Case cases[] = {
      {HSA_SIGNAL_CONDITION_EQ, 5, -1, 4, 5},  {HSA_SIGNAL_CONDITION_EQ, 5, 0xff, 0x104, 0x105},
      {HSA_SIGNAL_CONDITION_NE, 7, -1, 7, 8},  {HSA_SIGNAL_CONDITION_LT, 1, -1, 1, 0},
      {HSA_SIGNAL_CONDITION_LT, 0, -1, 3, -2}, {HSA_SIGNAL_CONDITION_GTE, 10, -1, 9, 10},
  };
  Queue queue;
  for (const Case& c : cases) {
    Signal signal(c.before), done;
    queue.barrier_value(signal.handle, c.condition, c.reference, c.mask, done.handle);
    EXPECT(done.stays_pending());
    hsa_signal_store_screlease(signal.handle, c.after);
    EXPECT(done.completes());
  }
}

void queues_depend_on_each_other() {
  constexpr int kSteps = 200;
  Queue queues[2]{Queue(256), Queue(256)};
  std::vector<std::unique_ptr<Signal>> steps;
  for (int i = 0; i <= kSteps; ++i) steps.push_back(std::make_unique<Signal>());
  for (int i = 0; i < kSteps; ++i) queues[i % 2].barrier({steps[i]->handle}, steps[i + 1]->handle);
  EXPECT(steps[1]->raw() == 1);
  hsa_signal_store_screlease(steps[0]->handle, 0);
  EXPECT(steps[kSteps]->completes());
  for (int i = 1; i < kSteps; ++i) EXPECT(steps[i]->times().end <= steps[i + 1]->times().start);
}

void invalid_packet() {
  Queue queue;
  Signal never;
  hsa_agent_dispatch_packet_t packet{};
  packet.completion_signal = never.handle;
  queue.submit(packet, HSA_PACKET_TYPE_AGENT_DISPATCH);
  queue.barrier({}, never.handle);
  for (int i = 0; i < 1000 && queue_error == HSA_STATUS_SUCCESS; ++i) std::this_thread::sleep_for(10ms);
  EXPECT(queue_error == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  EXPECT(never.stays_pending());
}

uint32_t low(const void* address) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address)); }
uint32_t high(const void* address) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address) >> 32); }

// Registers are set and read, memory is written, and what is for another XCC is left out, in buffers within buffers too.
void commands_in_memory() {
  constexpr uint32_t kGfxIndex = 0xc200;
  static uint32_t results[6];
  const uint32_t inner[] = {
      pm4(0x37, 5), 5 << 8, low(results + 2), high(results + 2), 33, 44,  // WRITE_DATA to memory, two dwords
  };
  const uint32_t buffer[] = {
      pm4(0x79, 2),
      kGfxIndex - 0xc000,
      0x40030005,                                 // SET_UCONFIG_REG
      2u << 30,                                                                     // a filler
      pm4(0x40, 5),
      5 << 8,
      kGfxIndex,
      0,
      low(results),
      high(results),              // COPY_DATA, register to memory
      pm4(0x40, 5),
      5 << 8 | 5,
      22,
      0,
      low(results + 1),
      high(results + 1),         // COPY_DATA, immediate to memory
      pm4(0x3f, 3),
      low(inner),
      high(inner),
      sizeof inner / sizeof *inner,          // INDIRECT_BUFFER
      pm4(0x23, 1),
      1u << 24 | 6,                                                   // PRED_EXEC: XCC 0 only
      pm4(0x40, 5),
      5 << 8 | 5,
      55,
      0,
      low(results + 4),
      high(results + 4),
      pm4(0x23, 1),
      6,                                                              // PRED_EXEC: none
      pm4(0x40, 5),
      5 << 8 | 5,
      66,
      0,
      low(results + 5),
      high(results + 5),
      pm4(0x46, 1),
      7,                                                              // EVENT_WRITE, without effect
  };
  Queue queue;
  Signal done;
  queue.commands(reinterpret_cast<uint64_t>(buffer), sizeof buffer / sizeof *buffer, done.handle);
  EXPECT(done.completes());
  const uint32_t expected[] = {0x40030005, 22, 33, 44, 55, 0};
  EXPECT(std::memcmp(results, expected, sizeof expected) == 0);
}

void commands_out_of_reach() {
  static const char constant[8] = "fixed";
  const uint32_t nowhere[] = {pm4(0x40, 5), 5 << 8 | 5, 1, 0, 0x1000, 0};
  const uint32_t read_only[] = {pm4(0x40, 5), 5 << 8 | 5, 1, 0, low(constant), high(constant)};
  const uint32_t too_long[] = {pm4(0x40, 5), 5 << 8 | 5, 1};
  const uint32_t too_short[] = {pm4(0x40, 1), 5 << 8 | 5};
  uint32_t itself[4] = {pm4(0x3f, 3)};
  itself[1] = low(itself), itself[2] = high(itself), itself[3] = 4;
  const std::pair<const uint32_t*, size_t> buffers[] = {
      {nowhere, 6}, {read_only, 6}, {too_long, 3}, {too_short, 2}, {itself, 4}, {reinterpret_cast<const uint32_t*>(0x1000), 4},
  };
  for (const auto& [commands, dwords] : buffers) {
    queue_error = HSA_STATUS_SUCCESS;
    Queue queue;
    Signal never;
    queue.commands(reinterpret_cast<uint64_t>(commands), dwords, never.handle);
    for (int i = 0; i < 1000 && queue_error == HSA_STATUS_SUCCESS; ++i) std::this_thread::sleep_for(1ms);
    EXPECT(queue_error == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    EXPECT(never.stays_pending());
  }
}

void destroyed_while_waiting() {
  Signal never, done;
  const auto start = std::chrono::steady_clock::now();
  {
    Queue queue;
    queue.barrier({never.handle}, done.handle);
    EXPECT(done.stays_pending());
  }
  EXPECT(std::chrono::steady_clock::now() - start < 3s);
  EXPECT(done.raw() == 1);
}

void exits_while_waiting() {
  auto* queue = new Queue;
  auto* never = new Signal;
  queue->barrier({never->handle}, {0});
  std::exit(0);
}

// Several host threads wait for the same signal; all must wake up.
void many_waiters() {
  for (int round = 0; round < 50; ++round) {
    Queue queue;
    Signal start, done;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i)
      waiters.emplace_back([&] {
        EXPECT(hsa_signal_wait_scacquire(done.handle, HSA_SIGNAL_CONDITION_LT, 1, ~uint64_t{0}, HSA_WAIT_STATE_BLOCKED) == 0);
      });
    queue.barrier({start.handle}, done.handle);
    std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
    hsa_signal_store_screlease(start.handle, 0);
    for (auto& waiter : waiters) waiter.join();
  }
}

void async_handlers() {
  constexpr int kRounds = 200;
  static std::atomic<int> calls{0};
  Queue queue;
  for (int i = 0; i < kRounds; ++i) {
    Signal done;
    const auto handler = [](hsa_signal_value_t, void*) {
      ++calls;
      return false;
    };
    OK(hsa_amd_signal_async_handler(done.handle, HSA_SIGNAL_CONDITION_LT, 1, handler, nullptr));
    queue.barrier({}, done.handle);
    for (int wait = 0; wait < 30000 && calls <= i; ++wait) std::this_thread::sleep_for(1ms);
    EXPECT(calls == i + 1);
  }
}

struct Pool {
  hsa_amd_memory_pool_t handle{};
  explicit Pool(hsa_agent_t agent) {
    OK(hsa_amd_agent_iterate_memory_pools(
        agent,
        [](hsa_amd_memory_pool_t pool, void* result) {
          bool allocates;
          OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates));
          auto& handle = *static_cast<hsa_amd_memory_pool_t*>(result);
          if (allocates && !handle.handle) handle = pool;
          return HSA_STATUS_SUCCESS;
        },
        &handle));
    EXPECT(handle.handle);
  }
  unsigned char* allocate(size_t size) const {
    void* memory;
    OK(hsa_amd_memory_pool_allocate(handle, size, 0, &memory));
    const hsa_agent_t agents[] = {gpu, cpu};
    OK(hsa_amd_agents_allow_access(2, agents, nullptr, memory));
    return static_cast<unsigned char*>(memory);
  }
};

// A chain of copies, each depending on the one before; prints the modelled times.
void copies_in_order() {
  constexpr size_t kBytes = 9 << 20;  // several packets
  unsigned char* host = Pool(cpu).allocate(kBytes);
  unsigned char* back = Pool(cpu).allocate(kBytes);
  unsigned char* device = Pool(gpu).allocate(kBytes);
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<unsigned char>(i * 2654435761u >> 24);
  Signal up, down;
  OK(hsa_amd_memory_async_copy(device, gpu, host, cpu, kBytes, 0, nullptr, up.handle));
  OK(hsa_amd_memory_async_copy(back, cpu, device, gpu, kBytes, 1, &up.handle, down.handle));
  EXPECT(hsa_signal_wait_scacquire(down.handle, HSA_SIGNAL_CONDITION_LT, 1, ~uint64_t{0}, HSA_WAIT_STATE_BLOCKED) == 0);
  EXPECT(std::memcmp(host, back, kBytes) == 0);
  EXPECT(up.times().start < up.times().end);
  EXPECT(down.times().start >= up.times().end);
  const uint64_t origin = up.times().start;
  std::printf("%lu %lu %lu\n", up.times().end - origin, down.times().start - origin, down.times().end - origin);
}

// A timeout counts modelled time: it must not depend on how long the copy really takes.
void timeouts_are_modelled() {
  constexpr size_t kBytes = 64 << 20;
  unsigned char* host = Pool(cpu).allocate(kBytes);
  unsigned char* device = Pool(gpu).allocate(kBytes);
  Signal done;
  OK(hsa_amd_memory_async_copy(device, gpu, host, cpu, kBytes, 0, nullptr, done.handle));
  const auto wait = [&](uint64_t timeout) {
    return hsa_signal_wait_scacquire(done.handle, HSA_SIGNAL_CONDITION_LT, 1, timeout, HSA_WAIT_STATE_ACTIVE);
  };
  int waits = 0;
  while (wait(100'000) != 0) EXPECT(++waits < 1000);
  const uint64_t duration = done.times().end - done.times().start;
  EXPECT(static_cast<uint64_t>(waits) == (duration - 1) / 100'000);
  std::printf("%d %lu\n", waits, duration);
}

const std::map<std::string, std::function<void()>> scenarios{
    {"ring_wraps", ring_wraps},
    {"many_producers", many_producers},
    {"barrier_and", barrier_and},
    {"barrier_or", barrier_or},
    {"barrier_value", barrier_value},
    {"queues_depend_on_each_other", queues_depend_on_each_other},
    {"invalid_packet", invalid_packet},
    {"commands_in_memory", commands_in_memory},
    {"commands_out_of_reach", commands_out_of_reach},
    {"destroyed_while_waiting", destroyed_while_waiting},
    {"exits_while_waiting", exits_while_waiting},
    {"many_waiters", many_waiters},
    {"async_handlers", async_handlers},
    {"copies_in_order", copies_in_order},
    {"timeouts_are_modelled", timeouts_are_modelled},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    for (const auto& [name, run] : scenarios) std::puts(name.c_str());
    return 0;
  }
  OK(hsa_init());
  find_agents();
  scenarios.at(argv[1])();
  OK(hsa_shut_down());
  return 0;
}
