// HIP exports no function that returns its tables. However, each exported entry point calls an internal function to get its
// table, loads the pointer at its own place in that table, and jumps to it. So the first call in an entry point leads to the
// table.
#include "preload/hip_tables.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace rpd::preload {
namespace {

constexpr size_t kEntryPointBytes = 64;  // the call is among the first this many bytes
constexpr unsigned char kCall = 0xe8;    // the opcode of a call with a 32-bit displacement
constexpr size_t kCallBytes = 5;

int note_hip(dl_phdr_info* library, size_t, void* path) {
  const std::string_view name = library->dlpi_name ? library->dlpi_name : "";
  if (name.find("/libamdhip64.so") == std::string_view::npos) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
}

// The path of the loaded HIP library; empty if HIP is not loaded.
std::string path_of_hip() {
  std::string path;
  dl_iterate_phdr(note_hip, &path);
  return path;
}

bool is_in_same_library(const void* address, const void* other) {
  Dl_info first, second;
  return dladdr(address, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

// Both tables begin with their size in bytes (as defined by the headers that HIP was built with), followed by function
// pointers.
bool looks_like_table(const void* table, const void* entry_point) {
  size_t bytes;
  const void* first;
  std::memcpy(&bytes, table, sizeof bytes);
  std::memcpy(&first, static_cast<const char*>(table) + sizeof bytes, sizeof first);
  constexpr size_t limit = 1 << 16;
  return bytes > sizeof bytes && bytes < limit && bytes % sizeof first == 0 && is_in_same_library(first, entry_point);
}

void* table_behind(void* hip, const char* entry_point) {
  const auto* const code = static_cast<const unsigned char*>(dlsym(hip, entry_point));
  if (!code) return nullptr;
  for (size_t i = 0; i + kCallBytes <= kEntryPointBytes; ++i) {
    if (code[i] != kCall) continue;
    int32_t displacement;
    std::memcpy(&displacement, code + i + 1, sizeof displacement);
    const unsigned char* const called = code + i + kCallBytes + displacement;
    if (!is_in_same_library(called, code)) continue;
    void* const table = reinterpret_cast<void* (*)()>(reinterpret_cast<uintptr_t>(called))();
    return table && looks_like_table(table, code) ? table : nullptr;
  }
  return nullptr;
}

// The version is taken from the file name, such as libamdhip64.so.7.2.53211: asking HIP would initialise it, and the caller may
// be running during that initialisation.
uint64_t version_in_name(const std::string& path) {
  char* const file = realpath(path.c_str(), nullptr);
  const std::string name = file ? file : path;
  std::free(file);
  unsigned major = 0, minor = 0;
  std::sscanf(name.c_str() + name.rfind(".so.") + 1, "so.%u.%u", &major, &minor);
  return major * 10000 + minor * 100;
}

}  // namespace

HipTables find_hip_tables() {
  const std::string path = path_of_hip();
  void* const hip = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (!hip) return {};
  return {hip, table_behind(hip, "hipGetDeviceCount"), table_behind(hip, "__hipRegisterFatBinary"), version_in_name(path)};
}

}  // namespace rpd::preload
