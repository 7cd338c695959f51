#include "capture/reader.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>

#include "capture/checksum.h"

namespace rpd::capture {
namespace {

constexpr uint64_t kDescriptionLimit = 1ull << 30;
constexpr uint64_t kKernargLimit = 1 << 20;

[[noreturn]] void refuse(const std::string& why) { throw InvalidCapture(why); }

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

std::string text(const std::vector<unsigned char>& bytes) { return {bytes.begin(), bytes.end()}; }

bool is_capture_file(const std::string& name, const std::set<std::string>& data) {
  for (const char* own_file : {kDispatchFile, kRegionsFile, kKernargFile, kCodeFile, kBeforeIndexFile, kAfterIndexFile})
    if (name == own_file) return true;
  return data.contains(name);
}

Folder opened(const std::string& path) {
  try {
    return Folder(path);
  } catch (const std::runtime_error&) {
    refuse("there is no such folder, or it cannot be read");
  }
}

}  // namespace

Capture::Capture(const std::string& path) : folder_(opened(path)) {
  if (folder_.has(kIncompleteFile)) {
    uint64_t bytes = 0;
    const File file = folder_.open(kIncompleteFile, bytes);
    std::string why(std::min<uint64_t>(bytes, 500), '\0');
    if (!file || !read_fully(file.descriptor(), why.data(), why.size(), 0)) why.clear();
    why.erase(std::min(why.find('\n'), why.size()));
    refuse("the capture is incomplete" + (why.empty() ? "" : " (" + why + ")"));
  }
  uint64_t bytes = 0;
  const File manifest = folder_.open(kManifestFile, bytes);
  if (!manifest) refuse(std::string("no ") + kManifestFile + ": not a capture, or an incomplete one");
  if (bytes > kDescriptionLimit) refuse(std::string(kManifestFile) + " is absurdly large");
  std::string content(bytes, '\0');
  if (!read_fully(manifest.descriptor(), content.data(), bytes, 0)) refuse(std::string(kManifestFile) + " cannot be read");
  manifest_ = manifest_from_json(content);

  regions_ = regions_from_json(text(read(kRegionsFile, kDescriptionLimit)));
  check_regions();
  std::set<std::string> data;
  for (const Region& region : regions_)
    for (const Phase phase : {Phase::before, Phase::after}) data.insert(region_file(region, phase));
  for (const auto& [name, entry] : manifest_)
    if (!is_capture_file(name, data))
      refuse(std::string(kManifestFile) + " names " + name + ", which is not a file of a capture");
  dispatch_ = dispatch_from_json(text(read(kDispatchFile, kDescriptionLimit)));
  kernarg_ = read(kKernargFile, kKernargLimit);
  code_ = read(kCodeFile, kDescriptionLimit * 4);
  read_index(Phase::before);
  read_index(Phase::after);
  check_dispatch();
  for (uint32_t region = 0; region < regions_.size(); ++region)
    for (const Phase phase : {Phase::before, Phase::after}) data_file(region, phase);  // must exist, with the right size
}

std::vector<unsigned char> Capture::read(const char* name, uint64_t limit) const {
  const auto entry = manifest_.find(name);
  if (entry == manifest_.end()) refuse(std::string(kManifestFile) + " does not name " + name);
  uint64_t bytes = 0;
  const File file = folder_.open(name, bytes);
  if (!file) refuse(std::string(name) + " is missing");
  if (bytes != entry->second.bytes)
    refuse(std::string(name) + " has " + std::to_string(bytes) + " bytes instead of " + std::to_string(entry->second.bytes));
  if (bytes > limit) refuse(std::string(name) + " is absurdly large");
  std::vector<unsigned char> content(bytes);
  if (!read_fully(file.descriptor(), content.data(), bytes, 0)) refuse(std::string(name) + " cannot be read");
  if (text_checksum(content.data(), bytes) != entry->second.checksum)
    refuse(std::string(name) + " is damaged: its checksum is wrong");
  return content;
}

const Region* Capture::region_of(uint64_t address, uint64_t bytes) const {
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](uint64_t a, const Region& region) { return a < region.base; });
  if (next == regions_.begin()) return nullptr;
  const Region& region = *std::prev(next);
  return region.contains(address, bytes) ? &region : nullptr;
}

void Capture::check_regions() const {
  uint64_t end = kPage;  // nothing may be in the null page
  for (const Region& region : regions_) {
    const std::string name = std::string(kRegionsFile) + ": the region at " + hex(region.base);
    if (region.base % kPage || region.bytes % kPage || region.bytes == 0) refuse(name + " does not consist of whole pages");
    if (region.base >= kAddressLimit || region.bytes > kAddressLimit - region.base)
      refuse(name + " is beyond 48 bits of address space");
    if (region.base < end) refuse(name + " overlaps the one before it, or they are not in order");
    end = region.end();
    for (const Allocation& a : region.allocations)
      if (!region.contains(a.address, a.bytes)) refuse(name + " does not contain its allocation at " + hex(a.address));
  }
}

void Capture::read_index(Phase phase) {
  const char* name = phase == Phase::before ? kBeforeIndexFile : kAfterIndexFile;
  const std::vector<unsigned char> content = read(name, kDescriptionLimit * 16);
  const auto bad = [&](size_t i, const char* why) { refuse(std::string(name) + ": record " + std::to_string(i) + " " + why); };
  if (content.size() % sizeof(Block)) refuse(std::string(name) + " does not consist of whole records");
  std::vector<Block>& blocks = blocks_[static_cast<size_t>(phase)];
  blocks.resize(content.size() / sizeof(Block));
  if (!content.empty()) std::memcpy(blocks.data(), content.data(), content.size());
  uint32_t region = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.region >= regions_.size() || block.source >= regions_.size()) bad(i, "names a region that does not exist");
    if (block.region < region) bad(i, "is out of order");
    if (block.region > region) region = block.region, end = 0;
    if (block.bytes == 0 || block.bytes % kPage || block.bytes > kBlock) bad(i, "has an impossible size");
    if (block.offset % kPage || block.offset < end) bad(i, "overlaps the one before it");
    if (block.offset > regions_[region].bytes || block.bytes > regions_[region].bytes - block.offset)
      bad(i, "reaches beyond its region");
    end = block.offset + block.bytes;
    if (block.stored == 0 || block.stored > block.bytes) bad(i, "has an impossible stored size");
    const auto entry = manifest_.find(region_file(regions_[block.source], phase));
    if (entry == manifest_.end()) bad(i, "is in a file that the manifest does not name");
    if (block.position > entry->second.bytes || block.stored > entry->second.bytes - block.position)
      bad(i, "reaches beyond its file");
  }
}

void Capture::check_dispatch() const {
  const Packet& packet = dispatch_.packet;
  const std::string name = std::string(kDispatchFile) + ": ";
  const int dimensions = packet.setup & 3;
  if (dimensions == 0) refuse(name + "the packet has no dimensions");
  uint64_t items = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (packet.grid[axis] == 0 || packet.workgroup[axis] == 0) refuse(name + "an empty grid or workgroup");
    if (packet.workgroup[axis] > 0xffff) refuse(name + "a workgroup is absurdly large");
    items *= packet.workgroup[axis];
  }
  if (items > 1024) refuse(name + "a workgroup of " + std::to_string(items) + " work-items");
  if (packet.group_bytes > (1u << 20) || packet.private_bytes > (1u << 24)) refuse(name + "absurd LDS or scratch");
  const Region* code = region_of(packet.kernel_object, 64);
  if (!code || code->kind != Kind::code) refuse(name + "the kernel object is not in any captured code object");
  if (dispatch_.code.load_bytes == 0 || !region_of(dispatch_.code.load_base, dispatch_.code.load_bytes))
    refuse(name + "the code object is not in any captured region");
  if (kernarg_.size() != dispatch_.kernel.kernarg_bytes)
    refuse(std::string(kKernargFile) + " does not have the size of the kernel's arguments");
  if (!kernarg_.empty() && !region_of(packet.kernarg_address, kernarg_.size()))
    refuse(name + "the kernel arguments are not in any captured region");
  for (const Variable& v : dispatch_.variables)
    if (!region_of(v.address, v.bytes)) refuse(name + "the variable " + v.name + " is not in any captured region");
}

File Capture::data_file(uint32_t region, Phase phase) const {
  const std::string name = region_file(regions_[region], phase);
  const auto entry = manifest_.find(name);
  if (entry == manifest_.end()) return File();
  uint64_t bytes = 0;
  File file = folder_.open(name, bytes);
  if (!file) refuse(name + " is missing");
  if (bytes != entry->second.bytes)
    refuse(name + " has " + std::to_string(bytes) + " bytes instead of " + std::to_string(entry->second.bytes));
  return file;
}

void Capture::read_block(const Block& block, int file, unsigned char* to, std::vector<unsigned char>& scratch) const {
  const auto damaged = [&](const char* why) {
    refuse("the memory at " + hex(regions_[block.region].base + block.offset) + " in region_" +
           hex(regions_[block.source].base).substr(2) + " is damaged: " + why);
  };
  if (block.stored == block.bytes) {
    if (!read_fully(file, to, block.bytes, block.position)) damaged("the file cannot be read");
  } else {
    scratch.resize(block.stored);
    if (!read_fully(file, scratch.data(), block.stored, block.position)) damaged("the file cannot be read");
    const size_t size = ZSTD_decompress(to, block.bytes, scratch.data(), block.stored);
    if (ZSTD_isError(size) || size != block.bytes) damaged("it does not decompress");
  }
  if (block_checksum_of(to, block.bytes) != block.checksum) damaged("its checksum is wrong");
}

void Capture::load(Phase phase, uint32_t region, unsigned char* memory) const {
  const std::vector<Block>& blocks = this->blocks(phase);
  const auto first =
      std::lower_bound(blocks.begin(), blocks.end(), region, [](const Block& block, uint32_t r) { return block.region < r; });
  std::vector<unsigned char> scratch;
  File file;
  uint32_t source = UINT32_MAX;
  for (auto block = first; block != blocks.end() && block->region == region; ++block) {
    if (block->source != source) file = data_file(block->source, phase), source = block->source;
    if (!file) refuse("a file of the region at " + hex(regions_[region].base) + " is missing");
    read_block(*block, file.descriptor(), memory + block->offset, scratch);
  }
}

// The gaps between the bytes that the records name must be empty; otherwise, damage in a gap would go unnoticed.
void Capture::check_holes_of(uint32_t region, Phase phase) const {
  const File file = data_file(region, phase);
  if (!file) return;
  const uint64_t bytes = manifest_.at(region_file(regions_[region], phase)).bytes;
  std::vector<std::pair<uint64_t, uint64_t>> named;
  for (const Block& block : blocks(phase))
    if (block.source == region) named.emplace_back(block.position, block.stored);
  std::sort(named.begin(), named.end());
  named.emplace_back(bytes, 0);
  uint64_t offset = 0;
  std::vector<char> content;
  for (const auto& [position, size] : named) {
    while (offset < position) {
      const off_t data = lseek(file.descriptor(), static_cast<off_t>(offset), SEEK_DATA);
      if (data < 0 || static_cast<uint64_t>(data) >= position) break;
      offset = static_cast<uint64_t>(data);
      content.resize(std::min<uint64_t>(position - offset, kBlock));
      if (!read_fully(file.descriptor(), content.data(), content.size(), offset))
        refuse(region_file(regions_[region], phase) + " cannot be read");
      if (std::any_of(content.begin(), content.end(), [](char c) { return c != 0; }))
        refuse(region_file(regions_[region], phase) + " is damaged: it contains bytes that no record names");
      offset += content.size();
    }
    offset = std::max(offset, position + size);
  }
}

void Capture::check_holes(Phase phase) const {
  for (uint32_t region = 0; region < regions_.size(); ++region) check_holes_of(region, phase);
}

void Capture::verify(Phase phase) const {
  check_holes(phase);
  std::vector<unsigned char> bytes(kBlock), scratch;
  File file;
  uint32_t source = UINT32_MAX;
  for (const Block& block : blocks(phase)) {
    if (block.source != source) file = data_file(block.source, phase), source = block.source;
    if (!file) refuse("a file of the region at " + hex(regions_[block.source].base) + " is missing");
    read_block(block, file.descriptor(), bytes.data(), scratch);
  }
}

}  // namespace rpd::capture
