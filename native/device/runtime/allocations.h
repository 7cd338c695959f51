// Which device addresses are the device's own memory.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace rpd {

class Allocations {
 public:
  void add(uint64_t begin, uint64_t size, bool local);
  void remove(uint64_t begin);
  // Memory that was never reported is the host's: pinned user memory reaches the device unreported.
  bool is_local(uint64_t address) const;

 private:
  struct Range {
    uint64_t size;
    bool local;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;  // by first address
};

}  // namespace rpd
