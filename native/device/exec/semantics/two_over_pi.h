// 2/pi in binary: V_TRIG_PREOP_F64 returns parts of it. Large arguments are multiplied by these parts to reduce them exactly.
#pragma once

#include <array>
#include <cstdint>

namespace rpd {

// The first 1201 bits after the binary point, the only bits that the instruction uses; bit 63 of the first word comes first.
constexpr std::array<uint64_t, 19> kTwoOverPi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

// 53 bits as an integer, starting `skip` bits after the binary point; zeros follow the last known bit.
constexpr uint64_t bits_of_two_over_pi(unsigned skip) {
  const auto word = [](unsigned i) { return i < kTwoOverPi.size() ? kTwoOverPi[i] : 0; };
  const unsigned first = skip / 64, shift = skip % 64;
  const uint64_t high = word(first) << shift | (shift ? word(first + 1) >> (64 - shift) : 0);
  return high >> 11;
}

}  // namespace rpd
