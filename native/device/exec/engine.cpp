// Runs one dispatch on all XCDs and adds up what they did.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "exec/dispatch.h"
#include "exec/execution_order.h"
#include "exec/initial_values.h"
#include "exec/occupancy.h"
#include "exec/write_guard.h"
#include "exec/xcd.h"
#include "isa/program.h"
#include "timing/counters.h"
#include "timing/instruction_costs.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

constexpr const char* kIsaName = "amdgcn-amd-amdhsa--gfx942";
constexpr uint64_t kWavesWorthAThread = 64;

DispatchError error_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::MemoryFault: return DispatchError::MemoryFault;
    case FaultKind::ApertureViolation: return DispatchError::ApertureViolation;
    case FaultKind::ForeignWrite:
    case FaultKind::Trap:
    case FaultKind::LimitReached: return DispatchError::Exception;
    default: return DispatchError::IllegalInstruction;
  }
}

std::string describe(const Fault& fault, const Kernel& kernel) {
  char text[768];
  const bool before = fault.op->address < kernel.entry;  // in a function that the kernel called
  const uint64_t distance = before ? kernel.entry - fault.op->address : fault.op->address - kernel.entry;
  int length = std::snprintf(text, sizeof text, "pc 0x%lx (entry %c 0x%lx): %s: %s; ", fault.op->address,
                             before ? '-' : '+', distance, fault.why, fault.op->text);
  const auto add = [&](const char* format, auto... values) {
    if (length < static_cast<int>(sizeof text)) length += std::snprintf(text + length, sizeof text - length, format, values...);
  };
  if (fault.lane >= 0) add("lane %d of ", fault.lane);
  add("wave %u of workgroup %lu", fault.wave, fault.workgroup);
  const bool has_address = fault.kind == FaultKind::MemoryFault || fault.kind == FaultKind::ApertureViolation || fault.kind == FaultKind::ForeignWrite;
  if (has_address) add(", address 0x%lx", fault.address);
  if (fault.kind == FaultKind::ForeignWrite) add(": %s", kernel.guard->describe(fault.address).c_str());
  if (fault.kind == FaultKind::MemoryFault && kernel.memory->map()) add(": %s", kernel.memory->map()->describe(fault.address).c_str());
  return text;
}

// "the kernel writes memory that is not its program's: the completion signal of its dispatch, at 0x7ff180"
std::string foreign_write(const Fault& fault, const Kernel& kernel) {
  if (fault.kind != FaultKind::ForeignWrite) return "";
  char place[32];
  std::snprintf(place, sizeof place, ", at 0x%lx", fault.address);
  return std::string(fault.why) + ": " + kernel.guard->describe(fault.address) + place;
}

DispatchResult refusal(DispatchError kind, std::string why) {
  DispatchResult result;
  result.error = std::move(why);
  result.error_kind = kind;
  return result;
}

}  // namespace

struct Engine::State {
  State(AddressSpace& address_space, unsigned host_threads, const EngineOptions& engine_options, const ProgramMemory* program_memory)
      : memory(address_space), options(engine_options), threads(std::clamp<unsigned>(host_threads, 1, parameter::xcds)),
        program(address_space, kIsaName, annotate_cost) {
    for (uint32_t i = 0; i < parameter::xcds; ++i) xcds.push_back(std::make_unique<Xcd>(i));
    if (options.race_seed) race_check = std::make_unique<RaceCheck>(*options.race_seed);
    if (options.write_check && program_memory) guard = std::make_unique<WriteGuard>(*program_memory);
  }

  AddressSpace& memory;
  EngineOptions options;
  unsigned threads;
  Program program;
  ExecutionOrder order{program, memory};
  std::vector<std::unique_ptr<Xcd>> xcds;
  WarmCaches warm;
  InitialValues initial{options.initial_values};
  std::unique_ptr<RaceCheck> race_check;
  std::unique_ptr<WriteGuard> guard;

  DispatchResult prepare(const DispatchRequest& request, Kernel& kernel);
  void execute(unsigned thread_count);
  DispatchResult collect(const Kernel& kernel);
  WorkDone timed(const Kernel& kernel, const std::vector<XcdWork>& done, DispatchResult& result);
};

// Fills in `kernel`; the result's error is what makes it impossible to run, if anything.
DispatchResult Engine::State::prepare(const DispatchRequest& request, Kernel& kernel) {
  kernel.request = request;
  if (!memory.allows(request.kernel_object, sizeof(KernelDescriptor), false)) {
    return refusal(DispatchError::InvalidCode, "the kernel object is not in mapped memory");
  }
  kernel.descriptor = KernelDescriptor::read(memory, request.kernel_object);
  kernel.entry = request.kernel_object + kernel.descriptor.kernel_code_entry_byte_offset;
  // With preloaded kernel arguments the code begins with 256 bytes that load them by hand, for older firmware.
  constexpr uint64_t preload_prologue = 256;
  if (kernel.descriptor.preload_length() > 0) kernel.entry += preload_prologue;
  if (kernel.descriptor.has(KernelDescriptor::kWavefrontSize32)) {
    return refusal(DispatchError::InvalidCode, "the kernel is compiled for waves of 32 lanes, which gfx942 does not have");
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (request.workgroup[axis] == 0 || request.grid[axis] == 0) {
      return refusal(DispatchError::InvalidDimension, "the grid or the workgroup is empty");
    }
    kernel.groups[axis] = (request.grid[axis] + request.workgroup[axis] - 1) / request.workgroup[axis];
  }
  const uint32_t items = uint32_t{request.workgroup[0]} * request.workgroup[1] * request.workgroup[2];
  if (items > 1024) return refusal(DispatchError::WorkgroupTooLarge, "the workgroup has more than 1024 work-items");
  if (request.group_segment_size > parameter::lds_bytes_per_cu) {
    return refusal(DispatchError::TooMuchGroupMemory, "the workgroup needs " + std::to_string(request.group_segment_size) +
                                                          " bytes of LDS, a CU has " + std::to_string(parameter::lds_bytes_per_cu));
  }
  const uint64_t preloaded = uint64_t{kernel.descriptor.preload_offset() + kernel.descriptor.preload_length()} * 4;
  if (kernel.descriptor.preload_length() > 0 && !memory.allows(request.kernarg_address, preloaded, false)) {
    DispatchResult result = refusal(DispatchError::MemoryFault, "the kernel arguments are not in mapped memory");
    result.fault_address = request.kernarg_address;
    return result;
  }
  kernel.waves_per_group = (items + kLanes - 1) / kLanes;
  kernel.vgprs = std::min(kernel.descriptor.accumulator_offset(), kernel.descriptor.total_vgprs());
  kernel.agprs = kernel.descriptor.total_vgprs() - kernel.vgprs;
  kernel.program = &program;
  kernel.memory = &memory;
  kernel.guard = guard.get();
  if (guard) guard->begin(kernel);
  kernel.instruction_limit = options.kernel_limit;
  initial.begin();
  kernel.initial = &initial;
  kernel.entry_op = program.at(kernel.entry);
  // Workgroups go to the XCDs in turn, and within one to its CUs: see Xcd::begin().
  const uint64_t groups = kernel.group_count();
  kernel.timed_xcd = static_cast<uint32_t>(options.timed_cu % std::min<uint64_t>(groups, parameter::xcds));
  const uint64_t of_xcd = (groups - kernel.timed_xcd - 1) / parameter::xcds + 1;
  kernel.timed_cu = static_cast<uint32_t>(options.timed_cu / parameter::xcds % std::min<uint64_t>(of_xcd, parameter::cus_per_xcd));
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

WorkDone Engine::State::timed(const Kernel& kernel, const std::vector<XcdWork>& done, DispatchResult& result) {
  const Xcd& first = *xcds[0];
  const Xcd& sampled = *xcds[kernel.timed_xcd];
  const Sample sample{sampled.trace(), sampled.recorded(), sampled.work()[kernel.timed_cu], sampled.resident_groups()};
  if (!kernel.request.traced_cu) return time_dispatch(done, sample, warm);
  const auto timeline = std::make_shared<Timeline>();
  const WatchedCu watched{first.thread_trace(), *timeline};
  const WorkDone work = time_dispatch(done, sample, warm, &watched);
  timeline->note_losses(first.thread_trace());
  result.timeline = timeline;
  return work;
}

DispatchResult Engine::State::collect(const Kernel& kernel) {
  DispatchResult result;
  std::vector<uint64_t> executed(program.op_count(), 0);
  MemoryCounts memory_total;
  WaveCounts waves;
  std::vector<XcdWork> done;
  for (const auto& xcd : xcds) {
    if (xcd->fault() && result.error.empty()) {
      result = refusal(error_of(xcd->fault().kind), describe(xcd->fault(), kernel));
      result.fault_address = xcd->fault().address;
      result.foreign_write = foreign_write(xcd->fault(), kernel);
    }
    xcd->end();
    memory_total.add(xcd->memory());
    waves.add(xcd->waves());
    for (const CuWork& cu : xcd->work()) waves.active_cus += cu.waves > 0;
    for (size_t i = 0; i < xcd->executed().size(); ++i) executed[i] += xcd->executed()[i];
    done.push_back({&xcd->work(), &xcd->memory(), &xcd->lines_read(), &xcd->lines_written()});
  }
  if (race_check) result.races = race_check->end();
  if (!result.error.empty()) return result;
  const WorkDone work = timed(kernel, done, result);
  result.duration_ns = work.duration_ns;
  result.counters = counter_values(program, executed, memory_total, waves, work);
  return result;
}

Engine::Engine(AddressSpace& memory, unsigned host_threads, const EngineOptions& options, const ProgramMemory* program_memory)
    : state_(std::make_unique<State>(memory, host_threads, options, program_memory)) {}
Engine::~Engine() = default;

DispatchResult Engine::run(const DispatchRequest& request) {
  Kernel kernel{};
  DispatchResult refused = state_->prepare(request, kernel);
  if (!refused.error.empty()) return refused;
  const uint32_t resident = resident_workgroups(kernel);
  if (resident == 0) {
    return refusal(DispatchError::TooManyRegisters, "the workgroup needs more registers than a CU has");
  }
  RaceCheck* race_check = state_->race_check.get();
  if (race_check) race_check->begin(kernel);
  for (auto& xcd : state_->xcds) xcd->begin(kernel, resident, race_check);
  const bool small = kernel.group_count() * kernel.waves_per_group < kWavesWorthAThread;
  const char* order = small || race_check ? nullptr : state_->order.why_it_matters(kernel.entry);
  state_->execute(small || race_check || order ? 1 : state_->threads);
  DispatchResult result = state_->collect(kernel);
  if (order) result.fixed_order = order;
  return result;
}

void Engine::forget_code(uint64_t begin, uint64_t size) {
  state_->program.forget(begin, size);
  state_->order.forget();
  // Not the instruction cache: when the host frees memory, in real time, must not decide modelled times.
}

void Engine::forget_caches() {
  for (auto& xcd : state_->xcds) xcd->forget_caches();
  state_->warm.mall.clear();
  state_->warm.instructions.invalidate();
}

}  // namespace rpd
