// For functions that a preloaded library substitutes for others, or that others look up by name.
#pragma once

#define RPD_VISIBLE extern "C" [[gnu::visibility("default")]]
