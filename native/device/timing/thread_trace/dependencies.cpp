#include "timing/thread_trace/dependencies.h"

#include <string_view>
#include <utility>

#include "isa/semantics.h"

namespace rpd {
namespace {

struct Outstanding {
  std::vector<size_t> accesses;
  bool any_order = false;

  std::vector<size_t> wait(size_t left) {
    if (left == 0) {
      any_order = false;
      return std::exchange(accesses, {});
    }
    if (any_order || accesses.size() <= left) return {};
    const auto kept = accesses.end() - static_cast<std::ptrdiff_t>(left);
    std::vector<size_t> done(accesses.begin(), kept);
    accesses.erase(accesses.begin(), kept);
    return done;
  }
};

}  // namespace

std::vector<WaitDependencies> wait_dependencies(const TimelineWave& wave) {
  std::vector<WaitDependencies> found;
  Outstanding vector, others;
  for (size_t i = 0; i < wave.entries.size(); ++i) {
    const Op& op = *wave.entries[i].op;
    switch (op.semantics->unit) {
      case Unit::VectorLoad: case Unit::VectorStore: case Unit::VectorAtomic:
        vector.accesses.push_back(i);
        if (op.semantics->space == Space::Flat) {  // completes in memory or in the LDS
          others.accesses.push_back(i);
          vector.any_order = others.any_order = true;
        }
        break;
      case Unit::Smem:
        others.any_order = true;
        others.accesses.push_back(i);
        break;
      case Unit::Lds: case Unit::Message:
        others.accesses.push_back(i);
        break;
      case Unit::Wait: {
        const uint32_t counts = op.immediate;  // vmcnt [3:0] and [15:14], lgkmcnt [11:8]; the most of each is no wait
        const auto wait_for = [&](Outstanding& outstanding, uint32_t left, uint32_t most) {
          if (left == most) return;
          if (auto done = outstanding.wait(left); !done.empty()) found.push_back({i, std::move(done)});
        };
        wait_for(others, counts >> 8 & 0xf, 0xf);
        wait_for(vector, (counts & 0xf) | (counts >> 14 & 3) << 4, 0x3f);
        break;
      }
      case Unit::CacheControl: {
        const std::string_view name = op.semantics->mnemonic;
        if (name.starts_with("s_")) {
          others.any_order = true;
          others.accesses.push_back(i);
        } else if (name.starts_with("buffer_wb")) {  // invalidations take effect in order and are not counted
          vector.accesses.push_back(i);
        }
        break;
      }
      default: break;
    }
  }
  return found;
}

}  // namespace rpd
