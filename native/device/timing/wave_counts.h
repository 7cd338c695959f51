// The sizes of a dispatch's waves, and how many of their lanes were active.
#pragma once

#include <bit>
#include <cstdint>

namespace rpd {

struct WaveCounts {
  uint64_t items = 0;        // lanes that exist when a wave starts
  uint64_t full = 0;         // waves of 64 items ...
  uint64_t below64 = 0, below48 = 0, below32 = 0, below16 = 0;  // ... and of fewer
  uint64_t valu_thread_quads = 0;  // active lanes times quad-cycles, over all VALU instructions
  uint64_t workgroups = 0;   // all workgroups of the dispatch
  uint64_t active_cus = 0;   // CUs that got a workgroup

  void launch(uint64_t exec) {
    const int lanes = std::popcount(exec);
    items += lanes;
    full += lanes == 64;
    below64 += lanes < 64;
    below48 += lanes < 48;
    below32 += lanes < 32;
    below16 += lanes < 16;
  }

  void add(const WaveCounts& other) {
    items += other.items;
    full += other.full;
    below64 += other.below64;
    below48 += other.below48;
    below32 += other.below32;
    below16 += other.below16;
    valu_thread_quads += other.valu_thread_quads;
    active_cus += other.active_cus;
  }
};

}  // namespace rpd
