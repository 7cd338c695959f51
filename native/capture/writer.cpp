#include "capture/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "capture/checksum.h"

namespace rpd::capture {

namespace {

const std::string& created(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) fail_with_errno(path);
  return path;
}

constexpr const char* kBeingWritten = "this capture is still being written, or its writer was killed; it cannot be replayed\n";

}  // namespace

struct Writer::Pages {
  std::span<const uint64_t> checksums;
  std::span<const bool> skip;
};

Writer::Writer(const std::string& path, std::optional<int> zstd_level)
    : folder_(created(path)), level_(zstd_level), compressor_(zstd_level ? ZSTD_createCCtx() : nullptr, ZSTD_freeCCtx) {
  folder_.write(kIncompleteFile, kBeingWritten, std::char_traits<char>::length(kBeingWritten));
  if (level_) compressed_.resize(ZSTD_compressBound(kBlock));
}

Writer::~Writer() = default;

void Writer::begin(const std::vector<Region>& regions) {
  regions_ = regions;
  folder_.make_folder(kMemoryFolder);
  for (uint32_t region = 0; region < regions_.size(); ++region) open_file(Phase::before, region);
  close_file();
}

void Writer::open_file(Phase phase, uint32_t region) {
  const std::string name = region_file(regions_[region], phase);
  if (file_ && phase_ == phase && region_ == region) return;
  close_file();
  phase_ = phase, region_ = region;
  FileEntry& entry = manifest_[name];
  end_ = level_ ? entry.bytes : 0;
  if (entry.bytes > 0 || folder_.has(name)) {
    file_ = File(open((folder_.path() + "/" + name).c_str(), O_RDWR | O_CLOEXEC));
    if (!file_) fail_with_errno(folder_.path() + "/" + name);
    return;
  }
  file_ = folder_.create(name);
  if (level_) return;
  // Makes the file a sparse image of the region, with the same length.
  if (ftruncate(file_.descriptor(), static_cast<off_t>(regions_[region].bytes)) != 0)
    fail_with_errno(folder_.path() + "/" + name);
  entry.bytes = regions_[region].bytes;
}

void Writer::close_file() {
  if (!file_) return;
  flush_run();
  if (level_) manifest_[region_file(regions_[region_], phase_)].bytes = end_;
  file_ = File();
}

void Writer::flush_run() {
  if (run_bytes_ == 0) return;
  try {
    write_fully(file_.descriptor(), run_, run_bytes_, run_position_);
  } catch (const std::runtime_error&) {
    fail_with_errno(folder_.path() + "/" + region_file(regions_[region_], phase_));
  }
  stored_ += run_bytes_;
  run_bytes_ = 0;
}

void Writer::store(Phase phase, Block block, const unsigned char* bytes, const Pages& pages) {
  block.checksum = block_checksum(pages.checksums);
  const auto duplicate = blocks_by_content_.find(block.checksum);
  if (duplicate != blocks_by_content_.end() && duplicate->second.bytes == block.bytes && phase == Phase::before) {
    block.source = duplicate->second.source, block.position = duplicate->second.position,
    block.stored = duplicate->second.stored;
    blocks_[static_cast<size_t>(phase)].push_back(block);
    return;
  }
  open_file(phase, block.region);
  const auto put = [this](const unsigned char* from, uint64_t size, uint64_t position) {
    if (run_bytes_ && run_ + run_bytes_ == from && run_position_ + run_bytes_ == position) {
      run_bytes_ += size;
      return;
    }
    flush_run();
    run_ = from, run_bytes_ = size, run_position_ = position;
  };
  if (level_) {
    const size_t size =
        ZSTD_compressCCtx(compressor_.get(), compressed_.data(), compressed_.size(), bytes, block.bytes, *level_);
    const bool smaller = !ZSTD_isError(size) && size < block.bytes;
    block.position = end_, block.stored = smaller ? static_cast<uint32_t>(size) : block.bytes;
    put(smaller ? reinterpret_cast<const unsigned char*>(compressed_.data()) : bytes, block.stored, end_);
    flush_run();  // the buffer is about to be reused
    end_ += block.stored;
  } else {
    block.position = block.offset, block.stored = block.bytes;
    for (uint64_t page = 0; page < block.bytes / kPage; ++page)
      if (!pages.skip[page]) put(bytes + page * kPage, kPage, block.offset + page * kPage);
  }
  if (phase == Phase::before) blocks_by_content_.emplace(block.checksum, block);
  blocks_[static_cast<size_t>(phase)].push_back(block);
}

void Writer::write(Phase phase, uint32_t region, uint64_t offset, std::span<const unsigned char> bytes,
                   std::span<const uint64_t> checksums, std::span<const bool> skip) {
  const uint64_t per_block = kBlock / kPage;
  for (uint64_t page = 0; page < skip.size();) {
    uint64_t end = std::min<uint64_t>(page + per_block, skip.size());
    if (phase == Phase::before) {
      if (std::all_of(skip.begin() + page, skip.begin() + end, [](bool zero) { return zero; })) {
        page = end;
        continue;
      }
    } else {
      if (skip[page]) {
        ++page;
        continue;
      }
      end = std::find(skip.begin() + page, skip.begin() + std::min<uint64_t>((page / per_block + 1) * per_block, skip.size()),
                      true) -
            skip.begin();
    }
    Block block{};
    block.region = block.source = region;
    block.offset = offset + page * kPage;
    block.bytes = static_cast<uint32_t>((end - page) * kPage);
    store(phase, block, bytes.data() + page * kPage, {checksums.subspan(page, end - page), skip.subspan(page, end - page)});
    page = end;
  }
  flush_run();  // the caller reuses its buffer
}

void Writer::write_file(const char* name, std::span<const unsigned char> bytes) {
  folder_.write(name, bytes.data(), bytes.size());
  manifest_[name] = {bytes.size(), text_checksum(bytes.data(), bytes.size())};
}

namespace {

std::span<const unsigned char> as_bytes(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

std::span<const unsigned char> as_bytes(const std::vector<Block>& blocks) {
  return {reinterpret_cast<const unsigned char*>(blocks.data()), blocks.size() * sizeof(Block)};
}

// Updates the link "isolate_capture" next to the capture, which always points to the newest complete capture.
void link_newest(const std::filesystem::path& capture) {
  namespace fs = std::filesystem;
  const fs::path link = capture.parent_path() / "isolate_capture";
  const fs::path fresh = capture.parent_path() / (".isolate_capture." + std::to_string(getpid()));
  std::error_code error;
  if (fs::exists(fs::symlink_status(link, error)) && !fs::is_symlink(fs::symlink_status(link, error))) return;
  fs::remove(fresh, error);
  fs::create_directory_symlink(capture.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
}

}  // namespace

void Writer::finish(const Dispatch& dispatch, std::span<const unsigned char> kernarg, std::span<const unsigned char> code) {
  close_file();
  write_file(kBeforeIndexFile, as_bytes(blocks_[0]));
  write_file(kAfterIndexFile, as_bytes(blocks_[1]));
  write_file(kRegionsFile, as_bytes(to_json(regions_)));
  write_file(kKernargFile, kernarg);
  write_file(kCodeFile, code);
  write_file(kDispatchFile, as_bytes(to_json(dispatch)));
  const std::string manifest = to_json(manifest_);
  const std::string unfinished = std::string(kManifestFile) + ".part";
  folder_.write(unfinished, manifest.data(), manifest.size());
  folder_.rename(unfinished, kManifestFile);
  folder_.remove(kIncompleteFile);
  link_newest(std::filesystem::absolute(folder_.path()));
}

void Writer::abandon(const std::string& why) noexcept {
  try {
    run_bytes_ = 0;
    file_ = File();
    std::error_code error;
    std::filesystem::remove_all(folder_.path() + "/" + kMemoryFolder, error);
    folder_.remove(kManifestFile);
    const std::string text = "there is no capture here: " + why + "\n";
    folder_.write(kIncompleteFile, text.data(), text.size());
  } catch (const std::exception&) {
    // The INCOMPLETE file from the start is still there.
  }
}

}  // namespace rpd::capture
