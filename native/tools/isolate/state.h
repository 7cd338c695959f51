// What the library was asked for, and how far it is: before the capture everything is watched, after it nothing.
#pragma once

#include <atomic>

#include "isolate/settings.h"

namespace rpd::isolate {

// Of this process; only where the library is active.
const Settings& settings();

// Set by OnLoad; cleared when the capture is made or has failed, at OnUnload, and in forked children.
inline std::atomic<bool> watching{false};

inline bool active() { return watching.load(std::memory_order_relaxed); }

}  // namespace rpd::isolate
