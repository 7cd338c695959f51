// What of the memory is the program's own, so that its kernels may write it, and what a kernel may not write although
// it can: packets, queues, signals, kernel arguments and code are the runtime's, and a kernel that writes them can make
// its dispatch look like another one. What nobody has declared is the runtime's.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "memory/allocation_map.h"

namespace rpd {

class ProgramMemory {
 public:
  // Given to the program, by whoever allocates, registers, maps or loads memory for it.
  void add(uint64_t begin, uint64_t size);
  void remove(uint64_t begin);
  // Not to be written, whatever it lies in. what: how a message names it; its text outlives this.
  void bar(uint64_t begin, uint64_t size, const char* what);
  void unbar(uint64_t begin);

  // A signal of the program's own making (its handle): kernels may write its value, as a host call does, unless a packet
  // completes it. Its mailbox is the word that wakes who waits for it.
  void add_signal(uint64_t signal, uint64_t mailbox);
  void remove_signal(uint64_t signal);
  void completes(uint64_t signal);

  // The range around `address` that kernels may write; empty if there is none.
  AccessWindow window(uint64_t address) const;
  bool may_signal(uint64_t address, uint32_t bytes) const;
  // "loaded code", "a signal", ...
  std::string describe(uint64_t address) const;

 private:
  struct Barred {
    uint64_t size;
    const char* what;
  };
  struct Signal {
    uint64_t mailbox;
    bool completion;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> own_;      // size by first address
  std::map<uint64_t, Barred> barred_;     // by first address
  std::map<uint64_t, Signal> signals_;    // by handle
  std::set<uint64_t> mailboxes_;          // of signals that a kernel may raise
};

// The part of `window` around `address` that lies outside of [begin, begin + size); empty if `address` is in it.
AccessWindow without(AccessWindow window, uint64_t address, uint64_t begin, uint64_t size);

}  // namespace rpd
