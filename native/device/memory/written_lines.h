// The lines that each writer has written, so that each cache can drop the lines that others have written.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/distinct_lines.h"

namespace rpd {

class WrittenLines {
 public:
  void add(const DistinctLines& writer) {
    for (const uint64_t line : writer.lines())
      if (!all_.insert(line)) several_.insert(line);
  }
  const std::vector<uint64_t>& lines() const { return all_.lines(); }
  // Whether any writer other than the owner of `own` has written the line. `own`: the lines of one of the writers passed to
  // add(), or null.
  bool written_by_others(uint64_t line, const DistinctLines* own) const {
    if (!all_.contains(line)) return false;
    return !own || several_.contains(line) || !own->contains(line);
  }

 private:
  DistinctLines all_;
  DistinctLines several_;  // lines with more than one writer
};

}  // namespace rpd
