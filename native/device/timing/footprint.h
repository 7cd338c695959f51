// Which lines of the device's memory an XCD touches, and how often: known without a model of its caches.
#pragma once

#include <cstdint>

#include "memory/line_log.h"

namespace rpd {

class Footprint {
 public:
  void clear() { *this = {}; }
  // Bytes that one access touches.
  void read(uint64_t first_line, uint64_t last_line) { touch(read_, reads_, first_line, last_line); }
  void write(uint64_t first_line, uint64_t last_line) { touch(written_, writes_, first_line, last_line); }

  const LineLog& lines_read() const { return read_; }
  const LineLog& lines_written() const { return written_; }
  // How often lines were touched, each once by an access.
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_; }
  uint64_t distinct_read() const { return read_.lines().size(); }
  uint64_t distinct_written() const { return written_.lines().size(); }

 private:
  static void touch(LineLog& log, uint64_t& count, uint64_t first, uint64_t last) {
    for (uint64_t line = first; line <= last; ++line) log.insert(line);
    count += last - first + 1;
  }

  LineLog read_, written_;
  uint64_t reads_ = 0, writes_ = 0;
};

}  // namespace rpd
