// Which kernels are wanted. Who reads the user's regular expression is the Python side, so that there is one dialect: it is
// asked by files. Without it, ISOLATE_KERNEL is a piece of a name, and no expression at all.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rpd::isolate {

struct KernelNames {
  std::string symbol;     // mangled
  std::string demangled;
};

// Of each kernel whether it is wanted. Waits for the answer; none is wanted (after saying so) where nobody answers.
//
// In the folder that ISOLATE_ASK names: a question NAME.question holds mangled and demangled names, each ended by a zero
// byte; a byte written to the FIFO "bell" says that it is there. NAME.answer holds '1' or '0' for each kernel.
std::vector<bool> wanted_of(std::span<const KernelNames> kernels);

}  // namespace rpd::isolate
