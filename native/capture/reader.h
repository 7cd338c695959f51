// Opens a capture without trusting its contents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/folder.h"
#include "capture/format.h"
#include "capture/json.h"

namespace rpd::capture {

// A capture whose descriptions are consistent and whose small files match their checksums. The bytes that load() reads are
// checked too. On failure, all functions throw InvalidCapture with a one-line message that names the file.
class Capture {
 public:
  explicit Capture(const std::string& path);

  const std::string& path() const { return folder_.path(); }
  const Dispatch& dispatch() const { return dispatch_; }
  const std::vector<Region>& regions() const { return regions_; }
  const std::vector<unsigned char>& kernarg() const { return kernarg_; }
  const std::vector<unsigned char>& code() const { return code_; }
  const std::vector<Block>& blocks(Phase phase) const { return blocks_[static_cast<size_t>(phase)]; }
  const Region* region_of(uint64_t address, uint64_t bytes) const;

  // Copies the blocks of a region to their places in `memory`, which is region.bytes long. For Phase::before, `memory` must be
  // zeroed; for Phase::after, it must hold the contents from before the kernel ran.
  void load(Phase phase, uint32_t region, unsigned char* memory) const;
  // Reads and checks all blocks of a phase, and checks that the phase's files contain nothing that the index does not name.
  void verify(Phase phase) const;
  // Performs only the second of these checks, which is cheap if the gaps in the files are real holes.
  void check_holes(Phase phase) const;

 private:
  std::vector<unsigned char> read(const char* name, uint64_t limit) const;
  void read_index(Phase phase);
  void check_regions() const;
  void check_dispatch() const;
  File data_file(uint32_t region, Phase phase) const;
  void read_block(const Block& block, int file, unsigned char* to, std::vector<unsigned char>& scratch) const;
  void check_holes_of(uint32_t region, Phase phase) const;

  Folder folder_;
  Manifest manifest_;
  Dispatch dispatch_;
  std::vector<Region> regions_;
  std::vector<unsigned char> kernarg_, code_;
  std::array<std::vector<Block>, 2> blocks_;
};

}  // namespace rpd::capture
