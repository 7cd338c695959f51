// Writes a memory image to a file of the same length, with holes in place of zero pages.
#pragma once

#include <cstdint>
#include <string>

#include "capture/folder.h"

namespace rpd::replay {

// Throws a std::runtime_error that names the file.
void write_sparse(const capture::Folder& folder, const std::string& name, const unsigned char* memory, uint64_t bytes);

}  // namespace rpd::replay
