// Tells which mapped memory belongs to the program, so that its kernels may access it, and which does not. Packets, queues,
// signals, kernel arguments and code belong to the runtime: a kernel that writes to them can make its dispatch look like a
// different one. Memory that has not been declared counts as the runtime's.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "memory/allocation_map.h"

namespace rpd {

class WritableMemory {
 public:
  // Memory that is given to the program: allocated, registered, mapped or loaded for it.
  void add(uint64_t begin, uint64_t size);
  void remove(uint64_t begin);
  // Memory that must not be written (or read, unless `may_be_read` is set), even if it lies within the program's memory.
  // `contents` names it in messages; the text must outlive this object.
  void protect(uint64_t begin, uint64_t size, const char* contents, bool may_be_read = false);
  void unprotect(uint64_t begin);

  // A signal (by handle) that the program itself has created. Kernels may write its value, as host calls do, unless it is a
  // packet's completion signal. The signal's mailbox is the word through which its waiters are woken.
  void add_signal(uint64_t signal, uint64_t mailbox);
  void remove_signal(uint64_t signal);
  void mark_as_completion_signal(uint64_t signal);

  // The range around `address` that kernels may write (or read); empty if there is none.
  AccessWindow writable(uint64_t address) const;
  AccessWindow readable(uint64_t address) const;
  // The piece of memory around `address` that the program was given in one call; empty if there is none.
  AccessWindow allocation_around(uint64_t address) const;
  // The pages of the program's memory around `address`; empty if none of that memory is in the same page as the address.
  AccessWindow pages(uint64_t address) const;
  bool may_signal(uint64_t address, uint32_t bytes, bool writes) const;
  // "loaded code", "a signal", ...
  std::string describe(uint64_t address) const;

 private:
  AccessWindow own_window(uint64_t address) const;

  struct ProtectedRange {
    uint64_t size;
    const char* contents;
    bool may_be_read;
  };
  struct Signal {
    uint64_t mailbox;
    bool completion;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> own_;      // size by first address
  std::map<uint64_t, ProtectedRange> protected_;     // by first address
  std::map<uint64_t, Signal> signals_;    // by handle
  std::set<uint64_t> mailboxes_;          // of signals that kernels may raise
};

// The part of `window` around `address` that lies outside [begin, begin + size); empty if `address` is inside that range.
AccessWindow without(AccessWindow window, uint64_t address, uint64_t begin, uint64_t size);

}  // namespace rpd
