// Instructions that gfx10 has renamed.
#pragma once

#include <string_view>

namespace rpd {

// The name under which the table of semantics has an instruction.
std::string_view older_name(std::string_view mnemonic);

}  // namespace rpd
