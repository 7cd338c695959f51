// Records which lines of the device's memory an XCD touches, and how often; this does not require a model of its caches.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/distinct_lines.h"

namespace rpd {

class TouchedLines {
 public:
  void clear() { *this = {}; }
  // Note the lines that one access touches. `matters(line)` tells whether to note a line; it is not called for recently noted
  // lines.
  template <class F>
  void read(uint64_t first_line, uint64_t last_line, F matters) {
    for (uint64_t line = first_line; line <= last_line; ++line) reads_ += read_.note(line, matters);
  }
  template <class F>
  void write(uint64_t first_line, uint64_t last_line, F matters) {
    for (uint64_t line = first_line; line <= last_line; ++line) writes_ += written_.note(line, matters);
  }

  const std::vector<uint64_t>& lines_read() const { return read_.log.lines(); }
  const std::vector<uint64_t>& lines_written() const { return written_.log.lines(); }
  // How many times noted lines were touched. Each call to read() or write() counts as one touch of each of its lines.
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_; }
  uint64_t distinct_read() const { return lines_read().size(); }
  uint64_t distinct_written() const { return lines_written().size(); }

 private:
  // Most accesses touch lines that were touched recently.
  struct Lines {
    DistinctLines log;
    std::array<uint64_t, 1024> lately{};  // [line % 1024]: line + 1

    template <class F>
    bool note(uint64_t line, F matters) {
      uint64_t& entry = lately[line % lately.size()];
      if (entry == line + 1) return true;
      if (!matters(line)) return false;
      entry = line + 1;
      log.insert(line);
      return true;
    }
  };

  Lines read_, written_;
  uint64_t reads_ = 0, writes_ = 0;
};

}  // namespace rpd
