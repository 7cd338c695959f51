// Writes the contents of the program's memory before and after the kernel to a capture.
#pragma once

#include <vector>

#include "capture/writer.h"
#include "isolate/memory_access.h"

namespace rpd::isolate {

class Snapshot {
 public:
  Snapshot(capture::Writer& writer, MemoryAccess& access, const std::vector<Source>& sources);

  // Writes all pages that are not all zeros. Keeps a checksum of each page: 8 bytes for every 4096.
  void write_before();
  // Writes the pages that have changed since write_before().
  void write_changes();

 private:
  capture::Writer& writer_;
  MemoryAccess& access_;
  const std::vector<Source>& sources_;
  std::vector<std::vector<uint64_t>> pages_;  // the checksums of each region
};

}  // namespace rpd::isolate
