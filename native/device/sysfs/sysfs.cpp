// The kernel driver's topology where programs look for it themselves: libraries for several GPUs, such as RCCL, read how these
// are linked from /sys/class/kfd/kfd/topology instead of asking ROCr.
//
// A library to preload. It redirects what is opened there to the folder that HSA_MODEL_TOPOLOGY names.
#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kTopology = "/sys/class/kfd/kfd/topology";

std::string redirected(const char* path) {
  const std::string_view wanted = path;
  const char* const model = std::getenv("HSA_MODEL_TOPOLOGY");
  if (!model || !wanted.starts_with(kTopology)) return path;
  return model + std::string(wanted.substr(kTopology.size()));
}

// The C library's function of this name.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using OpenFile = FILE* (*)(const char*, const char*);
using OpenFolder = DIR* (*)(const char*);

}  // namespace

#define VISIBLE extern "C" [[gnu::visibility("default")]]

VISIBLE FILE* fopen(const char* path, const char* mode) {
  static const auto original = next<OpenFile>("fopen");
  return original(redirected(path).c_str(), mode);
}

// C++ streams use this one.
VISIBLE FILE* fopen64(const char* path, const char* mode) {
  static const auto original = next<OpenFile>("fopen64");
  return original(redirected(path).c_str(), mode);
}

VISIBLE DIR* opendir(const char* path) {
  static const auto original = next<OpenFolder>("opendir");
  return original(redirected(path).c_str());
}
