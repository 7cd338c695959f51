// The library's settings and state: before the capture, the library watches everything; after it, nothing.
#pragma once

#include <atomic>

#include "isolate/settings.h"

namespace rpd::isolate {

// The settings of this process; to be called only if the library is active.
const Settings& settings();

// Set by OnLoad; cleared once the capture has succeeded or failed, at exit, in OnUnload, and in forked children.
inline std::atomic<bool> watching{false};

inline bool active() { return watching.load(std::memory_order_relaxed); }

}  // namespace rpd::isolate
