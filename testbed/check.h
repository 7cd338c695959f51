// Shared by all testbed programs: HIP errors as exit code 2, a verdict line on stdout, deterministic inputs and a tiny
// option parser. Nothing on stdout depends on time, addresses or the number of host threads, so the outputs of two runs
// can be compared byte for byte.
//
// Exit codes: 0 "PASS ...", 1 "FAIL ..." with the first mismatch, 2 a HIP call failed, 64 wrong usage.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define HIP_OK(call) check::hip_ok((call), #call, __FILE__, __LINE__)

// Reports invalid launch parameters; failures of a running kernel show up at the next synchronisation.
#define LAUNCH_OK() check::hip_ok(hipGetLastError(), "kernel launch", __FILE__, __LINE__)

namespace check {

inline void hip_ok(hipError_t error, const char* call, const char* file, int line) {
  if (error == hipSuccess) return;
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, hipGetErrorString(error));
  // _Exit, because tearing down the HIP runtime after a device error can hang, and the verdict is known.
  std::_Exit(2);
}

[[gnu::format(printf, 1, 2)]] inline void pass(const char* format, ...) {
  std::fputs("PASS ", stdout);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::fputc('\n', stdout);
}

[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  std::fputs("FAIL ", stdout);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::fputc('\n', stdout);
  std::exit(1);
}

// The i-th number of a fixed sequence of well-mixed 32-bit numbers (the finaliser of splitmix64).
inline uint32_t noise(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
  return static_cast<uint32_t>((i ^ (i >> 31)) >> 32);
}

// FNV-1a over the bytes: printed with the verdict, so that the output shows whether two runs are bit-identical.
inline uint64_t checksum(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3u;
  return hash;
}

template <typename T>
T* device_array(size_t elements) {
  T* pointer = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&pointer), elements * sizeof(T)));
  return pointer;
}

template <typename T>
T* device_copy_of(const std::vector<T>& host) {
  T* pointer = device_array<T>(host.size());
  HIP_OK(hipMemcpy(pointer, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
  return pointer;
}

template <typename T>
std::vector<T> host_copy_of(const T* device, size_t elements) {
  std::vector<T> host(elements);
  HIP_OK(hipMemcpy(host.data(), device, elements * sizeof(T), hipMemcpyDeviceToHost));
  return host;
}

// Options are "<flag> <value>" pairs; anything else prints the usage and exits 64.
class Options {
 public:
  Options(int argc, char** argv, const char* usage) : usage_(usage) {
    for (int i = 1; i < argc; i += 2) {
      if (i + 1 == argc) wrong(argv[i], "needs a value");
      given_.push_back({argv[i], argv[i + 1], false});
    }
  }

  std::string text(const char* flag, const char* otherwise) {
    std::string value = otherwise;
    for (Pair& pair : given_)
      if (pair.flag == flag) value = pair.value, pair.known = true;
    return value;
  }

  int number(const char* flag, int otherwise, int least, int most) {
    const std::string value = text(flag, std::to_string(otherwise).c_str());
    char* end = nullptr;
    const long long parsed = std::strtoll(value.c_str(), &end, 10);
    if (value.empty() || *end || parsed < least || parsed > most)
      wrong(flag, ("must be a number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
    return static_cast<int>(parsed);
  }

  // To be called after the last text() or number(): rejects options that none of them has read.
  void finish() const {
    for (const Pair& pair : given_)
      if (!pair.known) wrong(pair.flag.c_str(), "is not an option");
  }

  [[noreturn]] void wrong(const char* what, const char* why) const {
    std::fprintf(stderr, "%s %s\nusage: %s\n", what, why, usage_);
    std::exit(64);
  }

 private:
  struct Pair {
    std::string flag, value;
    bool known;
  };
  const char* usage_;
  std::vector<Pair> given_;
};

}  // namespace check
