// Instructions that gfx10 renamed.
#pragma once

#include <string_view>

namespace rpd {

// The name under which an instruction is listed in the table of semantics.
std::string_view older_name(std::string_view mnemonic);

}  // namespace rpd
