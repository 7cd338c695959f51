// Runs one dispatch on all XCDs and adds up what they did.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "exec/dispatch.h"
#include "exec/occupancy.h"
#include "exec/xcd.h"
#include "isa/program.h"
#include "timing/counters.h"
#include "timing/instruction_costs.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr const char* kIsaName = "amdgcn-amd-amdhsa--gfx942";
constexpr uint64_t kWavesWorthAThread = 64;

std::string describe(const Fault& fault, uint64_t entry) {
  char text[512];
  std::snprintf(text, sizeof text, "pc 0x%lx (entry + 0x%lx): %s: %s (at 0x%lx)", fault.op->address, fault.op->address - entry,
                fault.why, fault.op->text, fault.address);
  return text;
}

}  // namespace

struct Engine::State {
  State(AddressSpace& address_space, unsigned host_threads)
      : memory(address_space), threads(std::clamp<unsigned>(host_threads, 1, parameter::xcds)),
        program(address_space, kIsaName, annotate_cost) {
    for (uint32_t i = 0; i < parameter::xcds; ++i) xcds.push_back(std::make_unique<Xcd>(i));
  }

  AddressSpace& memory;
  unsigned threads;
  Program program;
  std::vector<std::unique_ptr<Xcd>> xcds;
  Mall mall{parameter::mall_bytes, parameter::mall_ways};

  std::string prepare(const DispatchRequest& request, Kernel& kernel);
  void execute(unsigned thread_count);
  DispatchResult collect(const Kernel& kernel);
};

// Fills in `kernel`; returns what makes it impossible to run, or nothing.
std::string Engine::State::prepare(const DispatchRequest& request, Kernel& kernel) {
  kernel.request = request;
  kernel.descriptor = KernelDescriptor::read(memory, request.kernel_object);
  kernel.entry = request.kernel_object + kernel.descriptor.kernel_code_entry_byte_offset;
  // With preloaded kernel arguments the code begins with 256 bytes that load them by hand, for older firmware.
  constexpr uint64_t preload_prologue = 256;
  if (kernel.descriptor.preload_length() > 0) kernel.entry += preload_prologue;
  if (kernel.descriptor.has(KernelDescriptor::kWavefrontSize32)) return "the kernel is compiled for waves of 32 lanes, which gfx942 does not have";
  for (int axis = 0; axis < 3; ++axis) {
    if (request.workgroup[axis] == 0 || request.grid[axis] == 0) return "the grid or the workgroup is empty";
    kernel.groups[axis] = (request.grid[axis] + request.workgroup[axis] - 1) / request.workgroup[axis];
  }
  const uint32_t items = uint32_t{request.workgroup[0]} * request.workgroup[1] * request.workgroup[2];
  if (items > 1024) return "the workgroup has more than 1024 work-items";
  kernel.waves_per_group = (items + kLanes - 1) / kLanes;
  kernel.vgprs = std::min(kernel.descriptor.accumulator_offset(), kernel.descriptor.total_vgprs());
  kernel.agprs = kernel.descriptor.total_vgprs() - kernel.vgprs;
  kernel.program = &program;
  kernel.memory = &memory;
  kernel.entry_op = program.at(kernel.entry);
  return {};
}

// Each thread steps its own XCDs in turn, so that workgroups which wait for each other make progress.
void Engine::State::execute(unsigned thread_count) {
  std::atomic<bool> stop{false};
  const auto run = [&](unsigned thread) {
    std::vector<Xcd*> mine;
    for (unsigned i = thread; i < xcds.size(); i += thread_count) mine.push_back(xcds[i].get());
    while (!mine.empty() && !stop.load(std::memory_order_relaxed)) {
      std::erase_if(mine, [&](Xcd* xcd) {
        const bool more = xcd->step();
        if (xcd->fault()) stop.store(true, std::memory_order_relaxed);
        return !more;
      });
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned t = 1; t < thread_count; ++t) workers.emplace_back(run, t);
  run(0);
}

DispatchResult Engine::State::collect(const Kernel& kernel) {
  DispatchResult result;
  std::vector<uint64_t> executed(program.op_count(), 0);
  MemoryCounts memory_total;
  std::vector<XcdWork> done;
  for (const auto& xcd : xcds) {
    if (xcd->fault() && result.error.empty()) result.error = describe(xcd->fault(), kernel.entry);
    xcd->end();
    memory_total.add(xcd->memory());
    for (size_t i = 0; i < xcd->executed().size(); ++i) executed[i] += xcd->executed()[i];
    done.push_back({&xcd->work(), &xcd->memory(), &xcd->beyond_l2()});
  }
  if (!result.error.empty()) return result;
  const WorkDone work = time_dispatch(done, xcds[0]->trace(), xcds[0]->resident_groups(), mall);
  result.duration_ns = work.duration_ns;
  result.counters = counter_values(program, executed, memory_total, work);
  return result;
}

Engine::Engine(AddressSpace& memory, unsigned host_threads) : state_(std::make_unique<State>(memory, host_threads)) {}
Engine::~Engine() = default;

DispatchResult Engine::run(const DispatchRequest& request) {
  Kernel kernel{};
  DispatchResult refused;
  refused.error = state_->prepare(request, kernel);
  if (!refused.error.empty()) return refused;
  const uint32_t resident = resident_workgroups(kernel);
  if (resident == 0) {
    refused.error = "the workgroup needs more registers, LDS or waves than a CU has";
    return refused;
  }
  for (auto& xcd : state_->xcds) xcd->begin(kernel, resident);
  const bool small = kernel.group_count() * kernel.waves_per_group < kWavesWorthAThread;
  state_->execute(small ? 1 : state_->threads);
  return state_->collect(kernel);
}

void Engine::forget_code(uint64_t begin, uint64_t size) { state_->program.forget(begin, size); }

}  // namespace rpd
