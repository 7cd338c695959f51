// Decides which kernels are wanted. The Python side interprets the user's regular expression, so that there is only one
// dialect; it is asked through files. Without it, ISOLATE_KERNEL is a plain substring of the name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rpd::isolate {

struct KernelNames {
  std::string symbol;     // mangled
  std::string demangled;
};

// Returns for each kernel whether it is wanted. Waits for the answer; if there is none, reports that and wants no kernel.
//
// In the folder that ISOLATE_ASK names, the question NAME.question holds mangled and demangled names, each terminated by a
// zero byte; a byte written to the FIFO "bell" announces it. NAME.answer holds '1' or '0' for each kernel.
std::vector<bool> wanted_of(std::span<const KernelNames> kernels);

}  // namespace rpd::isolate
