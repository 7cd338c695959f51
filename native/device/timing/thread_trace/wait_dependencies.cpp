#include "timing/thread_trace/wait_dependencies.h"

#include <utility>

#include "isa/semantics.h"

namespace rpd {
namespace {

struct PendingAccesses {
  std::vector<size_t> accesses;
  bool any_order = false;

  std::vector<size_t> wait(size_t remaining) {
    if (remaining == 0) {
      any_order = false;
      return std::exchange(accesses, {});
    }
    if (any_order || accesses.size() <= remaining) return {};
    const auto first_kept = accesses.end() - static_cast<std::ptrdiff_t>(remaining);
    std::vector<size_t> done(accesses.begin(), first_kept);
    accesses.erase(accesses.begin(), first_kept);
    return done;
  }
};

}  // namespace

std::vector<WaitDependencies> wait_dependencies(const TimelineWave& wave) {
  std::vector<WaitDependencies> dependencies;
  PendingAccesses vector, others, stores;
  for (size_t i = 0; i < wave.entries.size(); ++i) {
    const Op& op = *wave.entries[i].op;
    switch (op.semantics->unit) {
      case Unit::VectorLoad:
      case Unit::VectorStore:
      case Unit::VectorAtomic:
        (is_counted_as_store(op) ? stores : vector).accesses.push_back(i);
        if (op.semantics->space == Space::Flat) {  // completes in memory or in the LDS
          others.accesses.push_back(i);
          vector.any_order = others.any_order = true;
        }
        break;
      case Unit::Smem:
        others.any_order = true;
        others.accesses.push_back(i);
        break;
      case Unit::Lds:
      case Unit::Message: others.accesses.push_back(i); break;
      case Unit::Wait: {
        const auto wait_for = [&](PendingAccesses& outstanding, uint32_t remaining, uint32_t no_wait) {
          if (remaining == no_wait) return;
          if (auto done = outstanding.wait(remaining); !done.empty()) dependencies.push_back({i, std::move(done)});
        };
        wait_for(others, op.wait.scalar, target_of_device().rules.max_scalar_wait);
        wait_for(vector, op.wait.vector, WaitCounts::kNoVectorWait);
        wait_for(stores, op.wait.stores, WaitCounts::kNoVectorWait);
        break;
      }
      case Unit::CacheControl:
        if (is_for_scalar_caches(op.semantics->cache_control)) {
          others.any_order = true;
          others.accesses.push_back(i);
        } else if (op.semantics->cache_control == CacheControl::WriteBack) {
          vector.accesses.push_back(i);  // invalidations take effect in order and are not counted
        }
        break;
      default: break;
    }
  }
  return dependencies;
}

}  // namespace rpd
