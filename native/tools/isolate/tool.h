#pragma once

#include "isolate/settings.h"

namespace rpd::isolate {

// Of this process; only where the library is active.
const Settings& settings();

}  // namespace rpd::isolate
