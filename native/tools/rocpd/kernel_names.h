// The four forms of a kernel's name in a rocpd database.
#pragma once

#include <string>

namespace rpd::rocpd {

struct KernelNames {
  std::string formatted;  // "ns::reduce_sum(double const*, double*, int)": what people read
  std::string demangled;  // the same with " [clone .kd]"
  std::string truncated;  // "reduce_sum"
};

// `symbol` is the kernel descriptor's, "_ZN2ns10reduce_sumEPKdPdi.kd". One that is not a C++ name stays as it is,
// and keeps its ".kd" in the last two.
KernelNames kernel_names(const std::string& symbol);

}  // namespace rpd::rocpd
