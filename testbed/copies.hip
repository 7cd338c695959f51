// copies: every way HIP copies and fills memory, at sizes and alignments that take different routes inside HIP
// (SDMA engines, HIP's own copy and fill kernels, host staging buffers).
//
//   copies [--max-bytes N] [--seed S]                                                   defaults: 4194309, 1
//
// Shows that data arrives, not how fast. After every operation the whole destination is compared byte for byte with a
// host model of it, including the bytes around the target, which must not change.
// The default exceeds 4 MiB because one SDMA linear copy packet moves at most 4 MiB.
#include "check.h"

#include <algorithm>

constexpr size_t kGuard = 4096;    // bytes before and after the target that must not change
constexpr size_t kSizes[] = {1, 2, 3, 4, 7, 16, 63, 100, 1024, 4096, 16384, 16385, 65536, 65537, 1 << 20, (4 << 20) + 5};

__device__ uint8_t device_symbol[1024];

// A device buffer together with what it should hold.
struct Mirrored {
  uint8_t* device;
  std::vector<uint8_t> want;
};

// The device side of one run: a source and a destination, host buffers of both kinds, and a stream.
struct Bench {
  Mirrored source, target;
  std::vector<uint8_t> pageable;
  uint8_t* pinned = nullptr;
  hipStream_t stream = nullptr;
  uint64_t seed;
  size_t operations = 0;
  uint64_t sum = 0;
};

static void randomise(uint8_t* bytes, size_t count, uint64_t& seed) {
  for (size_t i = 0; i < count; i += 4) {
    const uint32_t word = check::noise(seed++);
    std::memcpy(bytes + i, &word, std::min<size_t>(4, count - i));
  }
}

// Compares the whole target with the model, which then takes over the target's content.
static void expect(Bench& bench, const char* operation, size_t size) {
  HIP_OK(hipDeviceSynchronize());
  const std::vector<uint8_t>& want = bench.target.want;
  const std::vector<uint8_t> got = check::host_copy_of(bench.target.device, want.size());
  for (size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      check::fail("copies: %s, %zu bytes: byte %zd of the target is 0x%02x, not 0x%02x", operation, size,
                  static_cast<ssize_t>(i) - static_cast<ssize_t>(kGuard), got[i], want[i]);
  bench.sum = bench.sum * 31 + check::checksum(got.data(), got.size());
  ++bench.operations;
}

static void expect_host(Bench& bench, const char* operation, size_t size, const uint8_t* got, const uint8_t* want) {
  for (size_t i = 0; i < size; ++i)
    if (got[i] != want[i])
      check::fail("copies: %s, %zu bytes: byte %zu on the host is 0x%02x, not 0x%02x", operation, size, i, got[i],
                  want[i]);
  ++bench.operations;
}

static void host_to_device(Bench& bench, size_t size) {
  uint8_t* target = bench.target.device + kGuard;
  uint8_t* model = bench.target.want.data() + kGuard;
  const auto one = [&](const char* name, uint8_t* host, bool async, hipMemcpyKind kind) {
    randomise(host, size, bench.seed);
    std::memcpy(model, host, size);
    if (async) {
      HIP_OK(hipMemcpyAsync(target, host, size, kind, bench.stream));
      HIP_OK(hipStreamSynchronize(bench.stream));
    } else {
      HIP_OK(hipMemcpy(target, host, size, kind));
    }
    expect(bench, name, size);
  };
  one("host to device, pageable", bench.pageable.data(), false, hipMemcpyHostToDevice);
  one("host to device, pageable and unaligned", bench.pageable.data() + 3, false, hipMemcpyHostToDevice);
  one("host to device, pageable, async", bench.pageable.data(), true, hipMemcpyHostToDevice);
  one("host to device, pinned", bench.pinned, false, hipMemcpyHostToDevice);
  one("host to device, pinned, async", bench.pinned + 1, true, hipMemcpyHostToDevice);
  one("host to device by default kind, pinned", bench.pinned, false, hipMemcpyDefault);
}

static void device_to_host(Bench& bench, size_t size) {
  const uint8_t* source = bench.source.device + kGuard + 1;
  const uint8_t* model = bench.source.want.data() + kGuard + 1;
  const auto one = [&](const char* name, uint8_t* host, bool async, hipMemcpyKind kind) {
    std::memset(host, 0x5a, size);
    if (async) {
      HIP_OK(hipMemcpyAsync(host, source, size, kind, bench.stream));
      HIP_OK(hipStreamSynchronize(bench.stream));
    } else {
      HIP_OK(hipMemcpy(host, source, size, kind));
    }
    expect_host(bench, name, size, host, model);
  };
  one("device to host, pageable", bench.pageable.data(), false, hipMemcpyDeviceToHost);
  one("device to host, pageable, async", bench.pageable.data() + 5, true, hipMemcpyDeviceToHost);
  one("device to host, pinned", bench.pinned, false, hipMemcpyDeviceToHost);
  one("device to host, pinned, async", bench.pinned + 2, true, hipMemcpyDeviceToHost);
  one("device to host by default kind, pageable", bench.pageable.data(), false, hipMemcpyDefault);
}

static void device_to_device(Bench& bench, size_t size) {
  const auto one = [&](const char* name, size_t from, size_t to, bool async) {
    uint8_t* target = bench.target.device + kGuard + to;
    const uint8_t* source = bench.source.device + kGuard + from;
    std::memcpy(bench.target.want.data() + kGuard + to, bench.source.want.data() + kGuard + from, size);
    if (async)
      HIP_OK(hipMemcpyAsync(target, source, size, hipMemcpyDeviceToDevice, bench.stream));
    else
      HIP_OK(hipMemcpy(target, source, size, hipMemcpyDeviceToDevice));
    expect(bench, name, size);
  };
  one("device to device, aligned", 0, 0, false);
  one("device to device, source unaligned", 3, 0, false);
  one("device to device, target unaligned", 0, 1, false);
  one("device to device, both unaligned", 5, 2, false);
  one("device to device, multiples of 4, async", 4, 12, true);
}

// `unit` bytes per element; the API counts elements.
template <typename Value, typename Fill>
static void fill(Bench& bench, const char* name, size_t size, size_t offset, Fill call) {
  const size_t count = size / sizeof(Value);
  const Value value = static_cast<Value>(check::noise(bench.seed++));
  uint8_t* model = bench.target.want.data() + kGuard + offset;
  for (size_t i = 0; i < count; ++i) std::memcpy(model + i * sizeof(Value), &value, sizeof(Value));
  HIP_OK(call(bench.target.device + kGuard + offset, value, count));
  expect(bench, name, count * sizeof(Value));
}

static void fills(Bench& bench, size_t size) {
  fill<uint8_t>(bench, "hipMemset", size, 0,
                [](uint8_t* p, uint8_t value, size_t count) { return hipMemset(p, value, count); });
  fill<uint8_t>(bench, "hipMemset, unaligned", size, 1,
                [](uint8_t* p, uint8_t value, size_t count) { return hipMemset(p, value, count); });
  fill<uint8_t>(bench, "hipMemsetAsync", size, 2, [&](uint8_t* p, uint8_t value, size_t count) {
    return hipMemsetAsync(p, value, count, bench.stream);
  });
  fill<uint8_t>(bench, "hipMemsetD8", size, 0,
                [](uint8_t* p, uint8_t value, size_t count) { return hipMemsetD8(p, value, count); });
  if (size >= 2)
    fill<uint16_t>(bench, "hipMemsetD16", size, 2,
                   [](uint8_t* p, uint16_t value, size_t count) { return hipMemsetD16(p, value, count); });
  if (size >= 4)
    fill<uint32_t>(bench, "hipMemsetD32", size, 4, [](uint8_t* p, uint32_t value, size_t count) {
      return hipMemsetD32(p, static_cast<int>(value), count);
    });
}

struct Rectangle {
  size_t width, height, pitch;
};

static void copy_rows(uint8_t* to, size_t to_pitch, const uint8_t* from, size_t from_pitch, const Rectangle& area) {
  for (size_t row = 0; row < area.height; ++row) std::memcpy(to + row * to_pitch, from + row * from_pitch, area.width);
}

static void rectangles(Bench& bench, const Rectangle& area) {
  const size_t bytes = area.width * area.height;
  const size_t host_pitch = area.width + 52;
  uint8_t* target = bench.target.device + kGuard;
  uint8_t* model = bench.target.want.data() + kGuard;
  const auto in = [&](const char* name, uint8_t* host) {
    randomise(host, host_pitch * area.height, bench.seed);
    copy_rows(model, area.pitch, host, host_pitch, area);
    HIP_OK(hipMemcpy2D(target, area.pitch, host, host_pitch, area.width, area.height, hipMemcpyHostToDevice));
    expect(bench, name, bytes);
  };
  const auto out = [&](const char* name, uint8_t* host) {
    std::vector<uint8_t> want(host_pitch * area.height, 0x5a);
    std::memset(host, 0x5a, want.size());
    copy_rows(want.data(), host_pitch, bench.source.want.data() + kGuard, area.pitch, area);
    HIP_OK(hipMemcpy2D(host, host_pitch, bench.source.device + kGuard, area.pitch, area.width, area.height,
                       hipMemcpyDeviceToHost));
    expect_host(bench, name, want.size(), host, want.data());
  };
  const auto across = [&](const char* name, size_t from, size_t to) {
    copy_rows(model + to, area.pitch, bench.source.want.data() + kGuard + from, area.pitch + 4, area);
    HIP_OK(hipMemcpy2DAsync(target + to, area.pitch, bench.source.device + kGuard + from, area.pitch + 4, area.width,
                            area.height, hipMemcpyDeviceToDevice, bench.stream));
    expect(bench, name, bytes);
  };
  in("2D host to device, pageable", bench.pageable.data());
  in("2D host to device, pinned", bench.pinned);
  out("2D device to host, pageable", bench.pageable.data());
  out("2D device to host, pinned", bench.pinned);
  across("2D device to device, aligned", 0, 0);
  across("2D device to device, unaligned", 1, 3);

  const uint8_t value = static_cast<uint8_t>(check::noise(bench.seed++));
  for (size_t row = 0; row < area.height; ++row) std::memset(model + row * area.pitch, value, area.width);
  HIP_OK(hipMemset2D(target, area.pitch, value, area.width, area.height));
  expect(bench, "hipMemset2D", bytes);
}

static void symbols(Bench& bench) {
  uint8_t back[sizeof device_symbol];
  std::vector<uint8_t> want(sizeof device_symbol);
  randomise(want.data(), want.size(), bench.seed);
  HIP_OK(hipMemcpyToSymbol(HIP_SYMBOL(device_symbol), want.data(), want.size()));
  HIP_OK(hipMemcpyFromSymbol(back, HIP_SYMBOL(device_symbol), sizeof back));
  expect_host(bench, "to and from a symbol", sizeof back, back, want.data());
}

static Mirrored mirrored(size_t size, uint64_t& seed) {
  Mirrored buffer{check::device_array<uint8_t>(size), std::vector<uint8_t>(size)};
  randomise(buffer.want.data(), size, seed);
  HIP_OK(hipMemcpy(buffer.device, buffer.want.data(), size, hipMemcpyHostToDevice));
  return buffer;
}

int main(int argc, char** argv) {
  check::Options options(argc, argv, "copies [--max-bytes N] [--seed S]");
  const size_t most = options.number("--max-bytes", (4 << 20) + 5, 1, 1 << 28);
  const uint64_t seed = options.number("--seed", 1, 0, 1 << 30);
  options.finish();

  // The rectangles below need 80 KiB with their pitches, even if --max-bytes is smaller.
  const size_t room = std::max<size_t>(most, 128 << 10);
  Bench bench{};
  bench.seed = seed << 32;
  bench.source = mirrored(room + 2 * kGuard, bench.seed);
  bench.target = mirrored(room + 2 * kGuard, bench.seed);
  bench.pageable.resize(room + kGuard);
  HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&bench.pinned), room + kGuard));
  HIP_OK(hipStreamCreate(&bench.stream));

  for (const size_t size : kSizes) {
    if (size > most) break;
    host_to_device(bench, size);
    device_to_host(bench, size);
    device_to_device(bench, size);
    fills(bench, size);
  }
  for (const Rectangle& area : {Rectangle{200, 50, 512}, {333, 17, 400}, {1, 9, 64}, {256, 256, 256}})
    rectangles(bench, area);
  symbols(bench);

  HIP_OK(hipStreamDestroy(bench.stream));
  HIP_OK(hipHostFree(bench.pinned));
  HIP_OK(hipFree(bench.source.device));
  HIP_OK(hipFree(bench.target.device));
  check::pass("copies operations=%zu max-bytes=%zu checksum=%016llx", bench.operations, most,
              static_cast<unsigned long long>(bench.sum));
  return 0;
}
