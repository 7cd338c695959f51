#include "runtime/reports/progress_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/reports/kernel_names.h"

namespace rpd::progress {
namespace {

Page* mapped() {
  const char* path = std::getenv("ROCM_PERF_DEVICE_PROGRESS");
  if (!path || !*path) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const bool fits = lseek(file, 0, SEEK_END) >= static_cast<off_t>(sizeof(Page));  // pages past its end are inaccessible
  void* memory = fits ? mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Page*>(memory);
}

template <typename Change>
void write(Change change) {
  Page* const shared = page();
  if (!shared) return;
  std::atomic_ref<uint32_t> version(shared->version);
  version.store(version.load(std::memory_order_relaxed) | 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change(*shared);
  version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

Page* page() {
  static Page* const page = mapped();
  return page;
}

void show(uint64_t dispatch, uint64_t kernel_object, const Work& work) {
  static uint64_t shown = 0;  // needs no lock, since dispatches take turns on the engine
  const bool other = shown != dispatch;
  const std::string name = other ? demangled_name(kernel_symbol(kernel_object)) : "";
  shown = dispatch;
  write([&](Page& shared) {
    shared.process = static_cast<uint32_t>(getpid());
    shared.dispatch = dispatch;
    shared.done = work.done;
    shared.total = work.total;
    shared.instructions = work.instructions;
    if (other) std::snprintf(shared.kernel, kNameBytes, "%s", name.c_str());
  });
}

void end() {
  write([](Page& shared) { shared.total = 0; });
}

}  // namespace rpd::progress
