#include "isa/semantics.h"
namespace rpd {
std::span<const Semantics> vector_scaled_semantics() { return {}; }
std::span<const Semantics> ocp_conversion_semantics() { return {}; }
}
