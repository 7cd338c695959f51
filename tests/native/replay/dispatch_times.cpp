// Prints the kernel time that a replay on a GPU derives from its arguments: start and end of each of before, kernel and
// after, ticks per second, and the host's milliseconds.
#include "replay/dispatch_times.h"

#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
  using rpd::replay::Timestamps;
  if (count != 9) return 2;
  const auto ticks = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
  try {
    const double ms =
        rpd::replay::kernel_milliseconds(Timestamps{ticks(1), ticks(2)}, Timestamps{ticks(3), ticks(4)},
                                         Timestamps{ticks(5), ticks(6)}, ticks(7), std::strtod(words[8], nullptr));
    std::printf("%.9f\n", ms);
  } catch (const rpd::replay::InconsistentTimes& error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}
