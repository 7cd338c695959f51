// Writes a capture's directory: first a file that marks the capture as incomplete, and last the manifest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/folder.h"
#include "capture/format.h"
#include "capture/json.h"

struct ZSTD_CCtx_s;

namespace rpd::capture {

// All functions throw std::runtime_error on failure; the directory then stays marked as incomplete.
class Writer {
 public:
  // Creates `path`, which must not exist. Without a zstd_level, bytes are stored uncompressed, in sparse files.
  Writer(const std::string& path, std::optional<int> zstd_level);
  ~Writer();

  const std::string& path() const { return folder_.path(); }
  uint64_t bytes_stored() const { return stored_; }

  void begin(const std::vector<Region>& regions);
  // Writes bytes of a region. Within a phase, calls must be made in ascending order of region and offset; `offset` must be a
  // multiple of kBlock. `checksums` are the pages' checksums; pages with `skip` set are zero (before) or unchanged (after).
  void write(Phase phase, uint32_t region, uint64_t offset, std::span<const unsigned char> bytes,
             std::span<const uint64_t> checksums, std::span<const bool> skip);
  void finish(const Dispatch& dispatch, std::span<const unsigned char> kernarg, std::span<const unsigned char> code);

  // Frees the disk space and records in the directory why there is no capture.
  void abandon(const std::string& why) noexcept;

 private:
  struct Pages;  // the pages of one write() call
  void open_file(Phase phase, uint32_t region);
  void close_file();
  void store(Phase phase, Block block, const unsigned char* bytes, const Pages& pages);
  void write_file(const char* name, std::span<const unsigned char> bytes);
  void flush_run();

  Folder folder_;
  std::optional<int> level_;
  std::unique_ptr<ZSTD_CCtx_s, size_t (*)(ZSTD_CCtx_s*)> compressor_;
  std::vector<char> compressed_;
  std::vector<Region> regions_;
  std::array<std::vector<Block>, 2> blocks_;
  std::map<Checksum, Block> blocks_by_content_;  // blocks of Phase::before, by content
  Manifest manifest_;
  uint64_t stored_ = 0;

  // The file being written.
  File file_;
  Phase phase_ = Phase::before;
  uint32_t region_ = 0;
  uint64_t end_ = 0;  // where the next compressed block goes
  // Bytes that are contiguous both in memory and in the file, and not yet written.
  const unsigned char* run_ = nullptr;
  uint64_t run_bytes_ = 0, run_position_ = 0;
};

}  // namespace rpd::capture
