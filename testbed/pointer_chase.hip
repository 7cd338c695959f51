// pointer_chase: follows linked lists through memory; the address of each load is the value of the previous one.
//
//   pointer_chase [--bytes N] [--stride N] [--hops N] [--kernel one|wave|both] [--repeats N]
//                                                   defaults: --bytes 262144 --stride 128 --hops 16384 --kernel both
//
// A list visits every slot of an array of --bytes (one slot every `stride` bytes), in a random order that forms one cycle.
//
// chase_one   one lane follows the list: one load in flight on the whole device. Expected: time = hops x latency,
//             the clearest latency-bound kernel there is; --bytes selects the level of the memory hierarchy that
//             answers: up to 16 KiB (gfx90a) or 32 KiB (gfx942) L1, up to 4 MiB L2, up to 256 MiB the MALL, then HBM
//             (given enough hops for a full cycle: a list is cached only after it has been visited).
// chase_wave  64 lanes of one wave, each from its own start: 64 lines per load. Expected: the same number of dependent
//             steps, each somewhat longer; 64 times the traffic in far less than 64 times the time.
//
// The CPU follows the same list: the slot in which each lane ends and the sum over the slots visited must be equal.
#include "check.h"

#include <algorithm>
#include <numeric>

constexpr int kLanes = 64;

struct End {
  uint32_t slot;
  uint32_t sum;  // of the slot numbers on the way, so that a short cut is detected
};

__device__ void chase(const uint32_t* list, int words, int hops, uint32_t start, End* end) {
  uint32_t slot = start, sum = 0;
  for (int hop = 0; hop < hops; ++hop) {
    slot = list[static_cast<size_t>(slot) * words];
    sum += slot;
  }
  *end = {slot, sum};
}

__global__ void chase_one(const uint32_t* list, int words, int hops, const uint32_t* starts, End* ends) {
  chase(list, words, hops, starts[0], &ends[0]);
}

__global__ __launch_bounds__(kLanes) void chase_wave(const uint32_t* list, int words, int hops, const uint32_t* starts,
                                                     End* ends) {
  chase(list, words, hops, starts[threadIdx.x], &ends[threadIdx.x]);
}

// successor[s] for every slot: one cycle through all of them (Sattolo's algorithm).
static std::vector<uint32_t> cycle(uint32_t slots) {
  std::vector<uint32_t> successor(slots);
  std::iota(successor.begin(), successor.end(), 0u);
  for (uint32_t i = slots - 1; i > 0; --i) std::swap(successor[i], successor[check::noise(i) % i]);
  return successor;
}

static End follow(const std::vector<uint32_t>& successor, int hops, uint32_t start) {
  End end{start, 0};
  for (int hop = 0; hop < hops; ++hop) {
    end.slot = successor[end.slot];
    end.sum += end.slot;
  }
  return end;
}

int main(int argc, char** argv) {
  check::Options options(argc, argv,
                         "pointer_chase [--bytes N] [--stride N] [--hops N] [--kernel one|wave|both] [--repeats N]");
  const int bytes = options.number("--bytes", 262144, 64, 1 << 30);
  const int stride = options.number("--stride", 128, 4, 1 << 20);
  const int hops = options.number("--hops", 16384, 1, 1 << 30);
  const int repeats = options.number("--repeats", 1, 1, 1000000);
  const std::string kernel = options.text("--kernel", "both");
  if (kernel != "one" && kernel != "wave" && kernel != "both") options.wrong("--kernel", "is one, wave or both");
  if (stride % 4) options.wrong("--stride", "must be a multiple of 4");
  if (bytes / stride < 2) options.wrong("--bytes", "must be two strides at least");
  options.finish();

  const std::vector<uint32_t> successor = cycle(bytes / stride);
  const int words = stride / 4;
  std::vector<uint32_t> list(successor.size() * words, 0xffffffffu), starts(kLanes);
  for (size_t slot = 0; slot < successor.size(); ++slot) list[slot * words] = successor[slot];
  for (int lane = 0; lane < kLanes; ++lane) starts[lane] = static_cast<uint32_t>(successor.size() * lane / kLanes);
  uint32_t* device_list = check::device_copy_of(list);
  uint32_t* device_starts = check::device_copy_of(starts);
  End* ends = check::device_array<End>(kLanes);

  const auto run = [&](const char* name, auto kernel_function, int lanes) {
    HIP_OK(hipMemset(ends, 0xff, kLanes * sizeof(End)));
    for (int i = 0; i < repeats; ++i) kernel_function<<<1, lanes>>>(device_list, words, hops, device_starts, ends);
    LAUNCH_OK();
    HIP_OK(hipDeviceSynchronize());
    const std::vector<End> got = check::host_copy_of(ends, lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      const End want = follow(successor, hops, starts[lane]);
      if (got[lane].slot != want.slot || got[lane].sum != want.sum)
        check::fail("%s: lane %d ends in slot %u with sum %u, not in %u with %u", name, lane, got[lane].slot,
                    got[lane].sum, want.slot, want.sum);
    }
    check::pass("%s bytes=%d stride=%d hops=%d checksum=%016llx", name, bytes, stride, hops,
                static_cast<unsigned long long>(check::checksum(got.data(), got.size() * sizeof(End))));
  };
  if (kernel != "wave") run("chase_one", chase_one, 1);
  if (kernel != "one") run("chase_wave", chase_wave, kLanes);

  for (uint32_t* array : {device_list, device_starts}) HIP_OK(hipFree(array));
  HIP_OK(hipFree(ends));
  return 0;
}
