// A function slot in the procedure linkage table of a loaded library.
#pragma once

namespace rpd {

// Makes the library whose file name contains `library` call `replacement` for `function` from now on. Returns what
// it called before, or null (and nothing changed) if library or slot are not there. The slot stays writable.
void* replace_plt_slot(const char* library, const char* function, void* replacement);

}  // namespace rpd
