// Executes dispatches of one kernel with counters and times, on several host threads: no HIP, no ROCr. Driven by tests.
//
//   rpd_engine_probe THREADS SAMPLED_BEYOND DISPATCHES < kernel > lines
//
// The kernel: Header, then its code. Its user SGPRs s[0:1] have the address of kMemoryBytes of zeroed memory, s2 the
// workgroup's number. Output, for each dispatch: "ns <duration> <its error>", then "<counter> <value> <its error>" for each
// counter; at last "memory <hash>". Errors are "exact" if there are none.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "exec/engine.h"
#include "exec/kernel_descriptor.h"
#include "timing/counters.h"
#include "timing/device_timing.h"

namespace rpd {
namespace {

constexpr uint64_t kKernelAddress = 0x10000, kMemoryAddress = 0x1000000, kMemoryBytes = 32 << 20;
constexpr uint64_t kApertureBytes = kMemoryAddress + kMemoryBytes;

struct Header {
  uint32_t code_bytes, groups, items, vgprs, lds_bytes;
};

void read_exactly(void* to, size_t size) {
  if (std::fread(to, 1, size, stdin) != size) throw std::runtime_error("the input ends early");
}

char* reserve() {
  void* base = mmap(nullptr, kApertureBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::runtime_error("no memory");
  return static_cast<char*>(base);
}

// Puts the kernel at its address.
void load(const AddressSpace& space, const Header& header) {
  KernelDescriptor descriptor{};
  descriptor.kernel_code_entry_byte_offset = 256;
  descriptor.compute_pgm_rsrc1 = ((header.vgprs + 7) / 8 - 1) | 0xf << 16;  // denormals on
  descriptor.compute_pgm_rsrc2 = 1 << 7;                                    // the workgroup's number along x
  descriptor.compute_pgm_rsrc3 = (header.vgprs + 3) / 4 - 1;
  descriptor.kernel_code_properties = KernelDescriptor::kKernargSegmentPtr;
  std::memcpy(space.at(kKernelAddress), &descriptor, sizeof descriptor);
  read_exactly(space.at(kKernelAddress + 256), header.code_bytes);
}

DispatchRequest request_of(const Header& header) {
  DispatchRequest request{};
  request.kernel_object = kKernelAddress;
  request.kernarg_address = kMemoryAddress;
  for (int axis = 0; axis < 3; ++axis) request.grid[axis] = request.workgroup[axis] = 1;
  request.grid[0] = header.groups * header.items;
  request.workgroup[0] = static_cast<uint16_t>(header.items);
  request.group_segment_size = header.lds_bytes;
  request.releases = true;
  return request;
}

void print(const char* name, double value, double error) {
  std::printf("%s %.17g ", name, value);
  std::printf(std::isnan(error) ? "exact\n" : "%.17g\n", error);
}

void print(const DispatchResult& result) {
  const bool estimated = !result.counter_errors.empty();
  print("ns", static_cast<double>(result.duration_alone_ns),
        estimated ? result.duration_error * static_cast<double>(result.duration_alone_ns) : std::nan(""));
  for (size_t i = 0; i < result.counters.size(); ++i)
    print(counter_table()[i].name, result.counters[i], estimated ? result.counter_errors[i] : std::nan(""));
}

uint64_t hash_of(const AddressSpace& space) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* words = space.at<uint64_t>(kMemoryAddress);
  for (uint64_t i = 0; i < kMemoryBytes / sizeof(uint64_t); ++i) hash = (hash ^ words[i]) * 0x100000001b3ull;
  return hash;
}

void run(unsigned threads, uint64_t sampled_beyond, int dispatches) {
  AddressSpace space;
  space.set_aperture(reserve(), kApertureBytes);
  Header header;
  read_exactly(&header, sizeof header);
  load(space, header);
  Engine engine(space, device_timing({.sampled_beyond = sampled_beyond}), threads);
  for (int i = 0; i < dispatches; ++i) {
    DispatchResult result;
    const auto execution = engine.begin(request_of(header), result);
    if (!execution) throw std::runtime_error(result.error);
    while (engine.advance(*execution, [](uint64_t) { return false; }) != Progress::Ended) {
    }
    result = engine.end(*execution);
    if (!result.error.empty()) throw std::runtime_error(result.error);
    print(result);
  }
  std::printf("memory %016lx\n", hash_of(space));
}

}  // namespace
}  // namespace rpd

int main(int count, char** words) {
  try {
    if (count != 4) throw std::runtime_error("usage: rpd_engine_probe THREADS SAMPLED_BEYOND DISPATCHES");
    rpd::run(static_cast<unsigned>(std::atoi(words[1])), std::strtoull(words[2], nullptr, 10), std::atoi(words[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpd_engine_probe: %s\n", error.what());
    return 1;
  }
  return 0;
}
