#include "isolate/untouched_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace rpd::isolate {
namespace {

constexpr const char* kName = "/memfd:hsakmt_model (deleted)";  // [libhsakmt, hsakmtmodel.c]

// Opens the device's memory file a second time, so that the offset of the original open file does not change. Returns -1 on
// failure.
int reopened() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    if (std::filesystem::read_symlink(entry.path(), error).string() == kName)
      return open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
  }
  return -1;
}

}  // namespace

UntouchedMemory::UntouchedMemory() : file_(reopened()) {
  if (file_ < 0) return;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping{};
    if (line.ends_with(kName) &&
        std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &mapping.begin, &mapping.end, &mapping.offset) == 3)
      mappings_.push_back(mapping);
  }
}

UntouchedMemory::~UntouchedMemory() {
  if (file_ >= 0) close(file_);
}

bool UntouchedMemory::holds(const void* memory, uint64_t bytes) const {
  const auto address = reinterpret_cast<uint64_t>(memory);
  const auto next =
      std::upper_bound(mappings_.begin(), mappings_.end(), address, [](uint64_t a, const Mapping& m) { return a < m.begin; });
  if (next == mappings_.begin()) return false;
  const Mapping& mapping = *std::prev(next);
  if (address + bytes > mapping.end) return false;
  const uint64_t offset = mapping.offset + (address - mapping.begin);
  const off_t data = lseek(file_, static_cast<off_t>(offset), SEEK_DATA);
  return data < 0 ? errno == ENXIO : static_cast<uint64_t>(data) >= offset + bytes;
}

}  // namespace rpd::isolate
