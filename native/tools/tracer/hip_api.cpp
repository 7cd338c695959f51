// The tracer's versions of HIP functions, which take precedence over HIP's if this library is preloaded: they tell the queue
// interceptor which stream and which call a packet comes from, and record the call. If the library is not preloaded, nothing
// calls them.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime_api.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tracer/host_context.h"
#include "tracer/recorder.h"

namespace rpd::tracer {
namespace {

// Streams are numbered in order of creation; 0 is the null stream. A stream whose creation was not seen gets its number on
// first use.
class Streams {
 public:
  void created(hipStream_t stream) {
    std::lock_guard lock(mutex_);
    numbers_[stream] = ++last_;  // HIP may give the address of a destroyed stream to a new one
  }

  uint32_t number(hipStream_t stream) {
    if (stream == nullptr || stream == hipStreamLegacy) return 0;
    if (stream == hipStreamPerThread) return number_of_this_thread();
    std::lock_guard lock(mutex_);
    const auto [entry, is_new] = numbers_.try_emplace(stream, last_ + 1);
    if (is_new) ++last_;
    return entry->second;
  }

 private:
  // hipStreamPerThread is a single handle, but stands for a different stream in every thread.
  uint32_t number_of_this_thread() {
    static thread_local uint32_t number = 0;
    std::lock_guard lock(mutex_);
    if (number == 0) number = ++last_;
    return number;
  }

  std::mutex mutex_;
  std::unordered_map<hipStream_t, uint32_t> numbers_;
  uint32_t last_ = 0;
};

Streams& streams() {
  static Streams& streams = *new Streams;
  return streams;
}

// The stream that `stream` refers to in the *_spt functions, which are called by programs compiled with
// -fgpu-default-stream=per-thread.
hipStream_t per_thread(hipStream_t stream) { return stream == nullptr ? hipStreamPerThread : stream; }

std::atomic<uint64_t> calls{0};

// One of the program's calls into HIP; lasts from construction to destruction.
class HipCall {
 public:
  HipCall(const char* function, hipStream_t stream) : function_(function), outer_(host_context()) {
    HostContext& context = host_context();
    context.correlation = ++calls;
    context.stream = streams().number(stream);
    start_ns_ = now_ns();
  }

  ~HipCall() {
    HostContext& context = host_context();
    spool::Region region{};
    region.correlation = context.correlation;
    region.parent = outer_.correlation;
    region.start_ns = start_ns_;
    region.end_ns = now_ns();
    region.thread = context.thread;
    record(spool::Kind::region, region, {function_});
    context = outer_;
  }

  HipCall(const HipCall&) = delete;
  HipCall& operator=(const HipCall&) = delete;

 private:
  const char* function_;
  HostContext outer_;
  uint64_t start_ns_;
};

int find_hip(dl_phdr_info* library, size_t, void* path) {
  if (std::strstr(library->dlpi_name, "libamdhip64.so") == nullptr) return 0;
  *static_cast<std::string*>(path) = library->dlpi_name;
  return 1;
}

// HIP's own function of this name. A program may have loaded HIP in a separate scope (as a Python extension does), which
// RTLD_NEXT does not search.
void* next_function(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  std::string path;
  dl_iterate_phdr(find_hip, &path);
  void* hip = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (void* next = hip == nullptr ? nullptr : dlsym(hip, name)) return next;
  std::fprintf(stderr, "rocm-perf tracer: no %s in the loaded HIP runtime; run without LD_PRELOAD\n", name);
  std::abort();
}

// Before hsa_init it is not known whether this process will be traced, so the environment decides.
bool traced() {
  static const bool asked_for = [] {
    const char* path = std::getenv("ROCM_PERF_TRACE");
    return path != nullptr && *path != '\0';
  }();
  return asked_for;
}

}  // namespace
}  // namespace rpd::tracer

#define RPD_HIP_EXPORT extern "C" __attribute__((visibility("default"))) hipError_t
#define RPD_HIP_NEXT(name, parameters)       \
  using Function = hipError_t(*) parameters; \
  static const auto next = reinterpret_cast<Function>(rpd::tracer::next_function(#name));

using rpd::tracer::per_thread;

#define RPD_HIP(name, parameters, arguments, stream_of_call) \
  RPD_HIP_EXPORT name parameters {                           \
    RPD_HIP_NEXT(name, parameters)                           \
    if (!rpd::tracer::traced()) return next arguments;       \
    const rpd::tracer::HipCall call(#name, stream_of_call);  \
    return next arguments;                                   \
  }

#define RPD_HIP_NEW_STREAM(name, parameters, arguments, created_stream)        \
  RPD_HIP_EXPORT name parameters {                                             \
    RPD_HIP_NEXT(name, parameters)                                             \
    if (!rpd::tracer::traced()) return next arguments;                         \
    const rpd::tracer::HipCall call(#name, nullptr);                           \
    const hipError_t status = next arguments;                                  \
    if (status == hipSuccess) rpd::tracer::streams().created(*created_stream); \
    return status;                                                             \
  }

#include "tracer/hip_functions.def"
