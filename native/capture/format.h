// A capture: one dispatch together with all the memory that it could access. docs/REPLAY.md describes the directory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rpd::capture {

inline constexpr int kFormatVersion = 1;
inline constexpr const char* kFormatName = "rocm-perf-capture";

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kBlock = 256 * 1024;       // unit of compression, of checksums and of sharing
inline constexpr uint64_t kAddressLimit = 1ull << 48;  // a GPU's addresses have 48 bits

inline constexpr const char* kIncompleteFile = "INCOMPLETE";  // present from the start until the capture is complete
inline constexpr const char* kManifestFile = "manifest.json";  // written last
inline constexpr const char* kDispatchFile = "dispatch.json";
inline constexpr const char* kRegionsFile = "memory_regions.json";
inline constexpr const char* kKernargFile = "kernarg.bin";
inline constexpr const char* kCodeFile = "kernel.hsaco";
inline constexpr const char* kMemoryFolder = "memory";
inline constexpr const char* kBeforeIndexFile = "memory/before.index";
inline constexpr const char* kAfterIndexFile = "memory/after.index";

enum class Phase { before, after };

enum class Kind { device, host, registered, managed, mapped, code };
inline constexpr std::array<const char*, 6> kKindNames{"device", "host", "registered", "managed", "mapped", "code"};

// An allocation as the program requested it. Several can share a region's pages.
struct Allocation {
  uint64_t address = 0, bytes = 0;
};

struct Variable {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

// A range of whole pages.
struct Region {
  uint64_t base = 0, bytes = 0;
  Kind kind = Kind::device;
  std::vector<Allocation> allocations;

  uint64_t end() const { return base + bytes; }
  bool contains(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
};

// A block's checksum, computed from the checksums of the block's pages, which are needed anyway to detect changed pages (see
// checksum.h).
using Checksum = std::array<uint64_t, 2>;

// A record of an index file: where some bytes of a region are stored. Bytes without a record are zero (before the kernel)
// or unchanged (after it).
struct Block {
  uint32_t region = 0;    // the region to which the bytes belong: its position in memory_regions.json
  uint32_t source = 0;    // the region whose file holds them: the same one, or a different one with equal bytes
  uint64_t offset = 0;    // in the region
  uint64_t position = 0;  // in the file
  uint32_t bytes = 0;     // a multiple of kPage, at most kBlock
  uint32_t stored = 0;    // stored size; if equal to `bytes`, they are uncompressed; if less, a zstd frame
  Checksum checksum{};    // of the bytes themselves, not of their stored form
};
static_assert(sizeof(Block) == 48);

struct Kernel {
  std::string name, symbol;  // demangled; mangled without ".kd"
  uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;  // as the code object declares them
};

// The AQL packet's fields.
struct Packet {
  uint16_t header = 0, setup = 0;
  std::array<uint32_t, 3> workgroup{1, 1, 1}, grid{1, 1, 1};  // work-items
  uint32_t private_bytes = 0, group_bytes = 0;
  uint64_t kernel_object = 0, kernarg_address = 0;
};

struct CodeObject {
  uint64_t load_base = 0, load_bytes = 0;
  int64_t load_delta = 0;
  std::string uri;
};

struct Origin {
  std::string agent, isa, product;
  std::string device;  // "software gfx942", empty on hardware
  std::string rocm_version, runtime_version;
  std::string program, working_directory, time;
  std::vector<std::string> command;
  int64_t pid = 0;
  uint64_t dispatch_index = 0;     // its number among the dispatches that matched
  uint64_t gpu_time_ns = 0;        // duration of the captured dispatch itself
};

struct Dispatch {
  Kernel kernel;
  Packet packet;
  CodeObject code;
  std::string descriptor;  // the kernel descriptor's 64 bytes, hexadecimal
  Origin origin;
  bool completed = true;   // false: the kernel itself failed, and memory after it is unknown
  std::vector<Variable> variables;  // variables of the code object
  std::vector<uint64_t> argument_allocations;  // addresses of allocations that have held a dispatch's arguments
  std::vector<std::string> not_captured;
  std::vector<std::string> warnings;
};

std::string region_file(const Region& region, Phase phase);  // "memory/region_7f00.bin"

}  // namespace rpd::capture
