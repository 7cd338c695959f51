// The program's memory before and after the kernel, written as a capture's.
#pragma once

#include <vector>

#include "capture/writer.h"
#include "isolate/memory_access.h"

namespace rpd::isolate {

class Snapshot {
 public:
  Snapshot(capture::Writer& writer, MemoryAccess& access, const std::vector<Source>& sources);

  // All pages that are not zero. Remembers a checksum of each page: 8 bytes for 4096.
  void before();
  // The pages that differ from before.
  void after();

 private:
  capture::Writer& writer_;
  MemoryAccess& access_;
  const std::vector<Source>& sources_;
  std::vector<std::vector<uint64_t>> pages_;  // of each region
};

}  // namespace rpd::isolate
