// The kernel driver's topology for programs that read it directly: profilers and multi-GPU libraries such as RCCL read
// /sys/class/kfd/kfd/topology instead of asking ROCr.
//
// When preloaded, this library redirects accesses to that path, and to a few related ones, to the folder named by
// HSA_MODEL_TOPOLOGY.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "preload/visible.h"

namespace {

// The paths that programs use, and their replacements inside the folder that HSA_MODEL_TOPOLOGY names.
struct Redirection {
  std::string_view path;
  const char* inside;
};
constexpr Redirection kRedirections[] = {
    {"/sys/class/kfd/kfd/topology", ""},
    {"/sys/module/amdgpu", "/amdgpu"},
    {"/dev/kfd", "/kfd"},
};

// A path, redirected if necessary. Allocates no memory, since programs may open files in places where allocation is forbidden.
class Path {
 public:
  explicit Path(const char* path) : path_(path) {
    for (const Redirection& redirection : kRedirections)
      if (path && lies_in(path, redirection.path)) redirect(path + redirection.path.size(), redirection.inside);
  }
  Path(const Path&) = delete;
  const char* c_str() const { return path_; }

 private:
  static bool lies_in(const char* path, std::string_view folder) {
    return std::strncmp(path, folder.data(), folder.size()) == 0 && (path[folder.size()] == '\0' || path[folder.size()] == '/');
  }
  void redirect(const char* rest, const char* inside) {
    const char* const model = std::getenv("HSA_MODEL_TOPOLOGY");
    if (!model) return;
    const int length = std::snprintf(redirected_, sizeof redirected_, "%s%s%s", model, inside, rest);
    if (length > 0 && static_cast<size_t>(length) < sizeof redirected_) path_ = redirected_;
  }

  const char* path_;
  char redirected_[PATH_MAX];
};

// The C library's own function with this name.
template <class Function>
Function* next(const char* name, Function* /*this*/) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool takes_mode(int flags) { return flags & (O_CREAT | O_TMPFILE); }

}  // namespace

// Defines a replacement for a C library function that has a parameter `path`; the macro's last arguments are passed to the
// original.
#define REDIRECT(RESULT, NAME, PARAMETERS, ...)       \
  RPD_VISIBLE RESULT NAME PARAMETERS {                \
    static auto* const original = next(#NAME, &NAME); \
    return original(__VA_ARGS__);                     \
  }
#define PATH Path(path).c_str()

REDIRECT(FILE*, fopen, (const char* path, const char* mode), PATH, mode)
REDIRECT(FILE*, fopen64, (const char* path, const char* mode), PATH, mode)
REDIRECT(DIR*, opendir, (const char* path), PATH)
REDIRECT(int, access, (const char* path, int mode), PATH, mode)
REDIRECT(int, faccessat, (int folder, const char* path, int mode, int flags), folder, PATH, mode, flags)
REDIRECT(int, stat, (const char* path, struct stat* facts), PATH, facts)
REDIRECT(int, stat64, (const char* path, struct stat64* facts), PATH, facts)
REDIRECT(int, lstat, (const char* path, struct stat* facts), PATH, facts)
REDIRECT(int, lstat64, (const char* path, struct stat64* facts), PATH, facts)
REDIRECT(int, fstatat, (int folder, const char* path, struct stat* facts, int flags), folder, PATH, facts, flags)
REDIRECT(int, fstatat64, (int folder, const char* path, struct stat64* facts, int flags), folder, PATH, facts, flags)
REDIRECT(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* facts), folder, PATH, flags, mask,
         facts)
REDIRECT(ssize_t, readlink, (const char* path, char* target, size_t bytes), PATH, target, bytes)

// Callers pass a mode only if a file may be created; otherwise the original gets 0.
#define REDIRECT_OPEN(NAME)                                           \
  RPD_VISIBLE int NAME(const char* path, int flags, ...) {            \
    static auto* const original = next(#NAME, &NAME);                 \
    va_list more;                                                     \
    va_start(more, flags);                                            \
    const mode_t mode = takes_mode(flags) ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                     \
    return original(PATH, flags, mode);                               \
  }
#define REDIRECT_OPEN_AT(NAME)                                         \
  RPD_VISIBLE int NAME(int folder, const char* path, int flags, ...) { \
    static auto* const original = next(#NAME, &NAME);                  \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    const mode_t mode = takes_mode(flags) ? va_arg(more, mode_t) : 0;  \
    va_end(more);                                                      \
    return original(folder, PATH, flags, mode);                        \
  }

REDIRECT_OPEN(open)
REDIRECT_OPEN(open64)
REDIRECT_OPEN_AT(openat)
REDIRECT_OPEN_AT(openat64)
