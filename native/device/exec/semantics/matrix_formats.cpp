#include "isa/semantics.h"
namespace rpd {
std::span<const Semantics> matrix_formats_semantics() { return {}; }
std::span<const Semantics> ocp_matrix_semantics() { return {}; }
}
