// Records the global memory that the waves of a dispatch access while they are being watched.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "exec/instruction_events.h"

namespace rpd {

class AccessWatch {
 public:
  void clear() { accessed_.clear(); }
  size_t count() const { return accessed_.size(); }
  // Whether there are more accesses than waves that merely poll would make.
  bool overflows() const { return accessed_.size() > kMaxAccesses; }

  void note(uint64_t address, uint32_t bytes) {
    if (!overflows()) accessed_.emplace(address, bytes);
  }
  void note(const VectorAccess& access) {
    for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1)
      note(access.at(std::countr_zero(remaining)), access.bytes);
  }

  // The current contents of all accessed memory; nullopt if part of it is no longer mapped.
  std::optional<std::vector<uint8_t>> contents(const AddressSpace& memory) const;
  // Whether contents() would differ from `before`.
  bool differs(const AddressSpace& memory, const std::vector<uint8_t>& before) const;

  const std::set<std::pair<uint64_t, uint32_t>>& accessed() const { return accessed_; }

 private:
  static constexpr size_t kMaxAccesses = 65536;
  std::set<std::pair<uint64_t, uint32_t>> accessed_;  // address, bytes
};

// Passes every event on to another observer, but first records accesses to global memory in a watch.
class AccessWatchObserver : public InstructionObserver {
 public:
  explicit AccessWatchObserver(InstructionObserver& inner) : inner_(inner) {}
  void begin(AccessWatch* watch) { watch_ = watch; }

  void vector_access(Wave& wave, const Op& op, const VectorAccess& access) override {
    if (access.space == Space::Global) watch_->note(access);
    inner_.vector_access(wave, op, access);
  }
  void scalar_access(Wave& wave, uint64_t address, uint32_t bytes) override {
    watch_->note(address, bytes);
    inner_.scalar_access(wave, address, bytes);
  }
  void fence(Wave& wave, const Op& op) override { inner_.fence(wave, op); }
  void wait(Wave& wave, const WaitCounts& limits) override { inner_.wait(wave, limits); }
  uint64_t clock(Wave& wave) override { return inner_.clock(wave); }

 private:
  InstructionObserver& inner_;
  AccessWatch* watch_ = nullptr;
};

}  // namespace rpd
