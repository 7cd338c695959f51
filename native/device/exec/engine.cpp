// Runs dispatches on all XCDs.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "exec/device_observer.h"
#include "exec/dispatch_execution.h"
#include "exec/dispatched_kernel.h"

namespace rpd {
namespace {

constexpr uint64_t kWavesWorthAThread = 64;
constexpr uint64_t kStepsPerCheck = 64;               // steps of an XCD (in turns: rounds) between two checks ...
constexpr uint64_t kInstructionsPerCheck = 2'500'000;  // ... and instructions of each XCD, if XCDs run side by side

DispatchError error_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::MemoryFault: return DispatchError::MemoryFault;
    case FaultKind::ApertureViolation: return DispatchError::ApertureViolation;
    case FaultKind::ForeignAccess:
    case FaultKind::Trap:
    case FaultKind::LimitReached: return DispatchError::Exception;
    default: return DispatchError::IllegalInstruction;
  }
}

std::string describe(const Fault& fault, const DispatchedKernel& kernel) {
  char text[768];
  const bool before = fault.op->address < kernel.entry;  // the fault is in a function that the kernel called
  const uint64_t distance = before ? kernel.entry - fault.op->address : fault.op->address - kernel.entry;
  int length = std::snprintf(text, sizeof text, "pc 0x%lx (entry %c 0x%lx): %s: %s; ", fault.op->address, before ? '-' : '+',
                             distance, fault.why, fault.op->text);
  const auto add = [&](const char* format, auto... values) {
    if (length < static_cast<int>(sizeof text)) length += std::snprintf(text + length, sizeof text - length, format, values...);
  };
  if (fault.lane >= 0) add("lane %d of ", fault.lane);
  add("wave %u of workgroup %lu", fault.wave, fault.workgroup);
  const bool has_address = fault.kind == FaultKind::MemoryFault || fault.kind == FaultKind::ApertureViolation ||
                           fault.kind == FaultKind::ForeignAccess;
  if (has_address) add(", address 0x%lx", fault.address);
  if (fault.kind == FaultKind::ForeignAccess) add(": %s", kernel.guard->describe(fault.address).c_str());
  const AllocationMap* map = kernel.memory->map();
  const bool is_host_memory = map && !kernel.memory->is_device(fault.address) && map->host_window(fault.address, false).size;
  if (fault.kind == FaultKind::MemoryFault && map && !is_host_memory) add(": %s", map->describe(fault.address).c_str());
  return text;
}

// "the kernel writes memory that is not its program's: the completion signal of its dispatch, at 0x7ff180"
std::string foreign_access(const Fault& fault, const DispatchedKernel& kernel) {
  if (fault.kind != FaultKind::ForeignAccess) return "";
  char where[32];
  std::snprintf(where, sizeof where, ", at 0x%lx", fault.address);
  return std::string(fault.why) + ": " + kernel.guard->describe(fault.address) + where;
}

DispatchResult refusal(DispatchError kind, std::string why) {
  DispatchResult result;
  result.error = std::move(why);
  result.error_kind = kind;
  return result;
}

}  // namespace

struct Engine::State {
  State(AddressSpace& address_space, std::unique_ptr<DeviceObserver> its_observer, unsigned host_threads,
        const EngineOptions& engine_options, const WritableMemory* of_program)
      : memory(address_space),
        observer(std::move(its_observer)),
        options(engine_options),
        program_memory(of_program),
        threads(std::clamp<unsigned>(host_threads, 1, target::xcds())),
        code(std::make_shared<Code>(memory)) {
    free.emplace(0, new_context());
  }

  AddressSpace& memory;
  std::unique_ptr<DeviceObserver> observer;
  EngineOptions options;
  const WritableMemory* program_memory;
  unsigned threads;
  std::shared_ptr<Code> code;
  uint32_t contexts = 0;
  FreeContexts free;

  std::unique_ptr<DispatchContext> new_context();
  std::unique_ptr<DispatchContext> take_context();
  DispatchResult prepare(const DispatchRequest& request, DispatchExecution& execution);
  void start(DispatchExecution& execution, uint32_t resident);
  Progress advance_in_turns(DispatchExecution& execution, const Interruption& interruption);
  Progress advance_side_by_side(DispatchExecution& execution, const Interruption& interruption);
  DispatchResult collect(DispatchExecution& execution);
};

std::unique_ptr<DispatchContext> Engine::State::new_context() {
  auto context = std::make_unique<DispatchContext>(options.initial_values, observer->new_context());
  context->number = contexts++;
  for (uint32_t i = 0; i < target::xcds(); ++i) context->xcds.push_back(std::make_unique<Xcd>(i, context->observer->xcd(i)));
  if (options.race_seed) context->race_check = std::make_unique<RaceCheck>(*options.race_seed, options.unordered_atomics);
  if (program_memory && (options.memory_check || !options.page_faults))
    context->guard = std::make_unique<MemoryGuard>(*program_memory, options.memory_check);
  return context;
}

std::unique_ptr<DispatchContext> Engine::State::take_context() {
  if (free.empty()) return new_context();
  auto context = free.extract(free.begin());
  if (context.key() > 0) context.mapped()->observer->invalidate_caches();
  return std::move(context.mapped());
}

// Fills in the execution's kernel. If the kernel cannot run, the result's error says why.
DispatchResult Engine::State::prepare(const DispatchRequest& request, DispatchExecution& execution) {
  DispatchedKernel& kernel = execution.kernel;
  kernel.request = request;
  if (!memory.allows(request.kernel_object, sizeof(KernelDescriptor), false)) {
    return refusal(DispatchError::InvalidCode, "the kernel object is not in mapped memory");
  }
  kernel.descriptor = KernelDescriptor::read(memory, request.kernel_object);
  kernel.entry = request.kernel_object + kernel.descriptor.kernel_code_entry_byte_offset;
  // With preloaded kernel arguments, the code begins with 256 bytes that load them explicitly, for older firmware. Skip them.
  constexpr uint64_t preload_prologue = 256;
  if (kernel.descriptor.preload_length() > 0) kernel.entry += preload_prologue;
  if (kernel.descriptor.wave_size() == 32 && !target_of_device().rules.has_wave32) {
    return refusal(DispatchError::InvalidCode, "the kernel is compiled for 32-lane waves, which the device does not support");
  }
  if (options.race_seed && target_of_device().rules.has_wave32) {
    return refusal(DispatchError::InvalidCode,
                   "the race check does not support code for " + std::string(target_of_device().name));
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (request.workgroup[axis] == 0 || request.grid[axis] == 0) {
      return refusal(DispatchError::InvalidDimension, "the grid or the workgroup is empty");
    }
    kernel.groups[axis] = (request.grid[axis] + request.workgroup[axis] - 1) / request.workgroup[axis];
  }
  const uint32_t items = uint32_t{request.workgroup[0]} * request.workgroup[1] * request.workgroup[2];
  if (items > 1024) return refusal(DispatchError::WorkgroupTooLarge, "the workgroup has more than 1024 work-items");
  if (request.group_segment_size > target_of_device().lds_bytes_per_workgroup) {
    return refusal(DispatchError::TooMuchGroupMemory, "the workgroup needs " + std::to_string(request.group_segment_size) +
                                                          " bytes of LDS, a CU has " +
                                                          std::to_string(target_of_device().lds_bytes_per_workgroup));
  }
  const uint64_t preloaded = uint64_t{kernel.descriptor.preload_offset() + kernel.descriptor.preload_length()} * 4;
  if (kernel.descriptor.preload_length() > 0 && !memory.allows(request.kernarg_address, preloaded, false)) {
    DispatchResult result = refusal(DispatchError::MemoryFault, "the kernel arguments are not in mapped memory");
    result.fault_address = request.kernarg_address;
    return result;
  }
  kernel.wave_size = kernel.descriptor.wave_size();
  kernel.waves_per_group = (items + kernel.wave_size - 1) / kernel.wave_size;
  kernel.vgprs = std::min(kernel.descriptor.accumulator_offset(), kernel.descriptor.total_vgprs());
  kernel.agprs = kernel.descriptor.total_vgprs() - kernel.vgprs;
  kernel.program = &execution.code->program;
  kernel.memory = &memory;
  kernel.guard = execution.context->guard.get();
  if (kernel.guard) execution.context->guard->begin(kernel);
  kernel.instruction_limit = options.kernel_limit;
  kernel.lds_check = options.lds_check;
  execution.context->initial.begin();
  kernel.initial = &execution.context->initial;
  kernel.entry_op = kernel.program->at(kernel.entry);
  return {};
}

void Engine::State::start(DispatchExecution& execution, uint32_t resident) {
  const DispatchedKernel& kernel = execution.kernel;
  RaceCheck* race_check = execution.context->race_check.get();
  if (race_check) race_check->begin(kernel);
  for (auto& xcd : execution.xcds()) {
    xcd->begin(kernel, resident, race_check);
    execution.unfinished.push_back(xcd.get());
  }
  const bool small = kernel.group_count() * kernel.waves_per_group < kWavesWorthAThread;
  execution.why_order_matters = small || race_check ? nullptr : execution.code->order.why_order_matters(kernel.entry);
  execution.takes_turns = small || race_check || execution.why_order_matters;
  execution.threads = execution.takes_turns ? 1 : threads;
  if (execution.takes_turns && !race_check) execution.busy_wait = std::make_unique<BusyWaitDetector>(execution.xcds(), memory);
}

namespace {

uint64_t instructions_of(const DispatchExecution& execution) {
  uint64_t sum = 0;
  for (const auto& xcd : execution.xcds()) sum += xcd->instructions();
  return sum;
}

// Lets each XCD take one step, so that workgroups waiting for each other make progress. Returns false when all XCDs are done or
// one has faulted.
bool round(DispatchExecution& execution) {
  bool fault = false;
  std::erase_if(execution.unfinished, [&](Xcd* xcd) {
    const bool more = xcd->step();
    fault |= static_cast<bool>(xcd->fault());
    return !more;
  });
  return !fault && !execution.unfinished.empty();
}

}  // namespace

Progress Engine::State::advance_in_turns(DispatchExecution& execution, const Interruption& interruption) {
  const uint64_t before = instructions_of(execution);
  for (uint64_t rounds = 1; round(execution); ++rounds) {
    if (execution.busy_wait && execution.busy_wait->after_round()) return Progress::Waits;
    if (rounds % kStepsPerCheck == 0 && interruption(instructions_of(execution) - before)) return Progress::Interrupted;
  }
  return Progress::Ended;
}

// Steps the XCD until it has executed its share of instructions, it has none left, or `stop` is set. Sets `stop` after a fault.
static void run_share(Xcd& xcd, std::atomic<bool>& stop) {
  const uint64_t end = xcd.instructions() + kInstructionsPerCheck;
  for (uint64_t steps = 1; !stop.load(std::memory_order_relaxed) && xcd.step(); ++steps)
    if (steps % kStepsPerCheck == 0 && xcd.instructions() >= end) break;
  if (xcd.fault()) stop.store(true, std::memory_order_relaxed);
}

// Called on each thread to run the XCDs assigned to that thread. They run one after the other because the registers of one
// XCD's waves fit into the host's caches, whereas the registers of several XCDs do not.
static void run_shares(const std::vector<Xcd*>& all, unsigned first, unsigned thread_count, std::atomic<bool>& stop) {
  for (size_t i = first; i < all.size(); i += thread_count) run_share(*all[i], stop);
}

Progress Engine::State::advance_side_by_side(DispatchExecution& execution, const Interruption& interruption) {
  uint64_t instructions = 0;
  std::atomic<bool> stop{false};
  do {
    const uint64_t before = instructions_of(execution);
    {
      std::vector<std::jthread> workers;
      for (unsigned t = 1; t < execution.threads; ++t)
        workers.emplace_back(run_shares, std::cref(execution.unfinished), t, execution.threads, std::ref(stop));
      run_shares(execution.unfinished, 0, execution.threads, stop);
    }
    std::erase_if(execution.unfinished, [](const Xcd* xcd) { return xcd->done(); });
    if (stop || execution.unfinished.empty()) return Progress::Ended;
    instructions += instructions_of(execution) - before;
  } while (!interruption(instructions));
  return Progress::Interrupted;
}

DispatchResult Engine::State::collect(DispatchExecution& execution) {
  const DispatchedKernel& kernel = execution.kernel;
  DispatchResult result;
  for (const auto& xcd : execution.xcds()) {
    if (!xcd->fault()) continue;
    result = refusal(error_of(xcd->fault().kind), describe(xcd->fault(), kernel));
    result.fault_address = xcd->fault().address;
    result.foreign_access = foreign_access(xcd->fault(), kernel);
    break;
  }
  if (RaceCheck* check = execution.context->race_check.get()) {
    result.written = check->written();
    result.races = check->end();
  }
  execution.context->observer->end(kernel, result);
  return result;
}

Engine::Engine(AddressSpace& memory, std::unique_ptr<DeviceObserver> observer, unsigned host_threads,
               const EngineOptions& options, const WritableMemory* program_memory)
    : state_(std::make_unique<State>(memory, std::move(observer), host_threads, options, program_memory)) {}
Engine::~Engine() = default;

std::shared_ptr<DispatchExecution> Engine::begin(const DispatchRequest& request, DispatchResult& refused) {
  auto execution = std::make_shared<DispatchExecution>(state_->code, state_->take_context(), state_->free);
  refused = state_->prepare(request, *execution);
  if (!refused.error.empty()) return nullptr;
  const uint32_t resident = resident_workgroups(execution->kernel);
  if (resident == 0) {
    refused = refusal(DispatchError::TooManyRegisters, "the workgroup needs more registers than a CU has");
    return nullptr;
  }
  state_->start(*execution, resident);
  return execution;
}

Progress Engine::advance(DispatchExecution& execution, const Interruption& interruption) {
  return execution.takes_turns ? state_->advance_in_turns(execution, interruption)
                               : state_->advance_side_by_side(execution, interruption);
}

bool Engine::can_resume(const DispatchExecution& execution) const { return execution.busy_wait->is_over(); }

void Engine::resume(DispatchExecution& execution) { execution.busy_wait->resume(); }

uint64_t Engine::instructions(const DispatchExecution& execution) const { return instructions_of(execution); }

uint64_t Engine::workgroups(const DispatchExecution& execution) const { return execution.kernel.group_count(); }

uint64_t Engine::workgroups_done(const DispatchExecution& execution) const {
  uint64_t done = 0;
  for (const auto& xcd : execution.xcds()) done += xcd->workgroups_done();
  return done;
}

std::string Engine::describe_positions(const DispatchExecution& execution) const {
  return execution.busy_wait->describe(execution.kernel);
}

DispatchResult Engine::end(DispatchExecution& execution) {
  DispatchResult result = state_->collect(execution);
  if (execution.why_order_matters) result.fixed_order = execution.why_order_matters;
  return result;
}

// Executions in flight keep the code that they began with.
void Engine::invalidate_code(uint64_t begin, uint64_t size) {
  if (state_->code.use_count() > 1) {
    state_->code = std::make_shared<Code>(state_->memory);
  } else {
    state_->code->program.forget(begin, size);
    state_->code->order.forget();
  }
  // The instruction cache is kept: modelled times must not depend on the real time at which the host frees memory.
}

void Engine::written_elsewhere(uint64_t address, uint64_t bytes) { state_->observer->written_elsewhere(address, bytes); }

void Engine::invalidate_xcd_caches() {
  for (auto& [number, context] : state_->free) context->observer->invalidate_caches();
}

void Engine::invalidate_caches() {
  invalidate_xcd_caches();
  state_->observer->invalidate_caches();
}

}  // namespace rpd
