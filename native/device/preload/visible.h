// Functions that a preloaded library puts in place of others, or that others find by name.
#pragma once

#define RPD_VISIBLE extern "C" [[gnu::visibility("default")]]
