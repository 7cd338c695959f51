// A dispatch in the engine: its code, its context, and the XCDs that have not finished. The engine can hold several dispatches
// at a time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/busy_wait_detector.h"
#include "exec/device_observer.h"
#include "exec/dispatched_kernel.h"
#include "exec/engine.h"
#include "exec/execution_order.h"
#include "exec/initial_values.h"
#include "exec/memory_guard.h"
#include "exec/race_check.h"
#include "exec/xcd.h"
#include "isa/program.h"

namespace rpd {

// Decoded code, and for each kernel in it, whether the order of execution matters.
struct Code {
  explicit Code(const AddressSpace& memory) : program(memory), order(program, memory) {}
  Program program;
  ExecutionOrder order;
};

// The XCDs as seen by one dispatch, which gets the free context with the lowest number. Only context 0, which serves all
// dispatches that are alone on the device, keeps its caches between dispatches.
struct DispatchContext {
  DispatchContext(uint64_t initial_values, std::unique_ptr<ContextObserver> its_observer)
      : initial(initial_values), observer(std::move(its_observer)) {}
  uint32_t number = 0;
  InitialValues initial;
  std::unique_ptr<ContextObserver> observer;
  std::vector<std::unique_ptr<Xcd>> xcds;
  std::unique_ptr<RaceCheck> race_check;
  std::unique_ptr<MemoryGuard> guard;
};

using FreeContexts = std::map<uint32_t, std::unique_ptr<DispatchContext>>;  // by number

class DispatchExecution {
 public:
  // The destructor returns the context `of_dispatch` to `free`.
  DispatchExecution(std::shared_ptr<Code> of_code, std::unique_ptr<DispatchContext> of_dispatch, FreeContexts& free)
      : code(std::move(of_code)), context(std::move(of_dispatch)), free_(free) {}
  ~DispatchExecution() {
    const uint32_t number = context->number;
    free_[number] = std::move(context);
  }
  DispatchExecution(const DispatchExecution&) = delete;

  std::vector<std::unique_ptr<Xcd>>& xcds() const { return context->xcds; }

  std::shared_ptr<Code> code;  // stays alive even if the engine forgets code in the meantime
  std::unique_ptr<DispatchContext> context;
  DispatchedKernel kernel{};
  std::vector<Xcd*> unfinished;
  bool takes_turns = true;  // the XCDs take turns to make a step, all on one thread
  unsigned threads = 1;
  const char* why_order_matters = nullptr;  // why the order of the XCDs' steps matters; null if it does not or was not examined
  std::unique_ptr<BusyWaitDetector> busy_wait;  // null if the XCDs do not take turns, or with a race check

 private:
  FreeContexts& free_;
};

}  // namespace rpd
