// Replaces a function's slot in the procedure linkage table of a loaded library.
#pragma once

namespace rpd {

// Makes the library whose file name contains `library` call `replacement` instead of `function` from now on. Returns the
// function that the slot held before, or null (changing nothing) if there is no such library or slot. The slot stays writable.
void* replace_plt_slot(const char* library, const char* function, void* replacement);

}  // namespace rpd
