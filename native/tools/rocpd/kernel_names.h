// The forms, other than the symbol, in which a rocpd database stores a kernel's name.
#pragma once

#include <string>

namespace rpd::rocpd {

struct KernelNames {
  std::string formatted;  // "ns::reduce_sum(double const*, double*, int)": for display
  std::string demangled;  // the same with " [clone .kd]"
  std::string truncated;  // "reduce_sum"
};

// `symbol` is the kernel descriptor's symbol, e.g. "_ZN2ns10reduce_sumEPKdPdi.kd". A symbol that is not a C++ name stays as it
// is, and keeps its ".kd" in the last two forms.
KernelNames kernel_names(const std::string& symbol);

}  // namespace rpd::rocpd
