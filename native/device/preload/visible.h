// For functions of a preloaded library that replace those of another library, or that another library looks up by name.
#pragma once

#define RPD_VISIBLE extern "C" [[gnu::visibility("default")]]
