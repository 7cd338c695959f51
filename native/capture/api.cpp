// Python reads captures through this C interface, so all parts of the tool share one reader and one notion of a valid capture.
#include <cstring>
#include <exception>
#include <string>

#include "capture/json.h"
#include "capture/reader.h"

namespace {

char* copy_of(const std::string& text) { return strdup(text.c_str()); }

}  // namespace

extern "C" {

// Opens and checks the capture at `path`; with `verify`, checks every byte of it. Returns null if it is valid; otherwise the
// reason why not, which the caller must free with rpd_capture_free.
__attribute__((visibility("default"))) char* rpd_capture_check(const char* path, int verify) {
  try {
    const rpd::capture::Capture capture(path);
    if (verify)
      for (const auto phase : {rpd::capture::Phase::before, rpd::capture::Phase::after}) capture.verify(phase);
    return nullptr;
  } catch (const std::exception& error) {
    return copy_of(*error.what() ? error.what() : "it cannot be read");
  }
}

// Reads `size` bytes at `offset` in the region at `base` into `to`, as they were before the kernel ran or, if `after` is set,
// afterwards. Returns null on success; otherwise the reason for the failure, as above.
__attribute__((visibility("default"))) char* rpd_capture_read(const char* path, int after, uint64_t base, uint64_t offset,
                                                              uint64_t size, unsigned char* to) {
  try {
    const rpd::capture::Capture capture(path);
    for (uint32_t i = 0; i < capture.regions().size(); ++i) {
      const auto& region = capture.regions()[i];
      if (region.base != base) continue;
      if (!region.contains(base + offset, size)) return copy_of("the region is smaller");
      std::string bytes(region.bytes, '\0');
      auto* memory = reinterpret_cast<unsigned char*>(bytes.data());
      capture.load(rpd::capture::Phase::before, i, memory);
      if (after) capture.load(rpd::capture::Phase::after, i, memory);
      std::memcpy(to, memory + offset, size);
      return nullptr;
    }
    return copy_of("there is no region at that address");
  } catch (const std::exception& error) {
    return copy_of(error.what());
  }
}

__attribute__((visibility("default"))) void rpd_capture_free(char* text) { free(text); }
}
