// Decides which kernels are wanted. The user's regular expression is interpreted by the Python side, which is queried through
// files, so that there is only one dialect. Without the Python side, ISOLATE_KERNEL is a plain substring of the name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rpd::isolate {

struct KernelNames {
  std::string symbol;  // mangled
  std::string demangled;
};

// Returns, for each kernel, whether it is wanted. Waits for the answer; if none arrives, reports this and treats no kernel as
// wanted.
//
// In the folder that ISOLATE_ASK names, the file NAME.question contains the mangled and demangled names, each terminated by a
// zero byte; a byte written to the FIFO "bell" announces the question. The file NAME.answer then contains '1' or '0' for each
// kernel.
std::vector<bool> which_are_wanted(std::span<const KernelNames> kernels);

}  // namespace rpd::isolate
