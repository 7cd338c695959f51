// The spool of this process, and whether records are written to it.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "spool/spool.h"

namespace rpd::tracer {

// Set by OnLoad; cleared by OnUnload and in forked children. Unless it is set, the wrappers just pass calls through.
inline std::atomic<bool> recording{false};

// Never destroyed: the program's threads may still submit work while its static destructors run.
inline spool::Spool& the_spool() {
  static spool::Spool& spool = *new spool::Spool;
  return spool;
}

template <class T>
void record(spool::Kind kind, const T& fixed_part, std::initializer_list<std::string_view> strings = {},
            std::span<const std::byte> array = {}) {
  if (recording.load(std::memory_order_relaxed)) the_spool().append(kind, fixed_part, strings, array);
}

// Nanoseconds since boot: the HSA system clock domain, hence the domain of all times in a trace.
inline uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

}  // namespace rpd::tracer
