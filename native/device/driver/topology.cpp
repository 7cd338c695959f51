// The kernel driver's topology where programs look for it themselves: libraries for several GPUs, such as RCCL, read how these
// are linked from /sys/class/kfd/kfd/topology instead of asking ROCr.
//
// A library to preload. It redirects what is opened there to the folder that HSA_MODEL_TOPOLOGY names.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdarg>
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

using Open = int (*)(const char*, int, ...);
using OpenFile = FILE* (*)(const char*, const char*);
using Stat = int (*)(const char*, struct stat*);
using OpenFolder = DIR* (*)(const char*);

}  // namespace

#define VISIBLE extern "C" [[gnu::visibility("default")]]

VISIBLE FILE* fopen(const char* path, const char* mode) {
  static const auto original = next<OpenFile>("fopen");
  return original(redirected(path).c_str(), mode);
}

// C++ streams use this one. The mode is only there if a file may be created.
VISIBLE int open(const char* path, int flags, ...) {
  static const auto original = next<Open>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return original(redirected(path).c_str(), flags, mode);
}

VISIBLE DIR* opendir(const char* path) {
  static const auto original = next<OpenFolder>("opendir");
  return original(redirected(path).c_str());
}

VISIBLE int stat(const char* path, struct stat* facts) {
  static const auto original = next<Stat>("stat");
  return original(redirected(path).c_str(), facts);
}
