// How far the library is: before the capture everything is watched, after it nothing.
#pragma once

#include <atomic>

namespace rpd::isolate {

// Set by OnLoad; cleared when the capture is made or has failed, at OnUnload, and in forked children.
inline std::atomic<bool> watching{false};

inline bool active() { return watching.load(std::memory_order_relaxed); }

}  // namespace rpd::isolate
