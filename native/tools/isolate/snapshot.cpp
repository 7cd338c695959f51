#include "isolate/snapshot.h"

#include <algorithm>
#include <memory>

#include "capture/checksum.h"

namespace rpd::isolate {

using capture::kPage;
using capture::Phase;

namespace {

// Keeps the bytes at `address` that were registered; all others become zero.
void keep_registered(const capture::Region& region, uint64_t address, std::span<const unsigned char> bytes,
                     std::vector<unsigned char>& registered) {
  registered.assign(bytes.size(), 0);
  for (const capture::Allocation& allocation : region.allocations) {
    const uint64_t first = std::max(allocation.address, address),
                   last = std::min(allocation.address + allocation.bytes, address + bytes.size());
    if (first < last) std::copy_n(bytes.data() + (first - address), last - first, registered.data() + (first - address));
  }
}

// Registered memory shares its pages with other parts of the program's heap, which can change at any time, even while they are
// being read. So bytes that were not registered are not captured.
void read(MemoryAccess& access, const Source& source, const MemoryAccess::Piece& piece) {
  if (source.region.kind != capture::Kind::registered) return access.read(source, piece);
  std::vector<unsigned char> registered;
  access.read(source, [&](uint64_t offset, std::span<const unsigned char> bytes) {
    keep_registered(source.region, source.region.base + offset, bytes, registered);
    piece(offset, registered);
  });
}

}  // namespace

Snapshot::Snapshot(capture::Writer& writer, MemoryAccess& access, const std::vector<Source>& sources)
    : writer_(writer), access_(access), sources_(sources), pages_(sources.size()) {}

void Snapshot::write_before() {
  const std::vector<unsigned char> nothing(kPage);
  const uint64_t of_zeros = capture::page_checksum(nothing.data());
  const auto skip = std::make_unique<bool[]>(MemoryAccess::kPiece / kPage);
  for (uint32_t region = 0; region < sources_.size(); ++region) {
    std::vector<uint64_t>& region_checksums = pages_[region];
    region_checksums.resize(sources_[region].region.bytes / kPage);
    read(access_, sources_[region], [&](uint64_t offset, std::span<const unsigned char> bytes) {
      const size_t count = bytes.size() / kPage;
      uint64_t* const checksums = region_checksums.data() + offset / kPage;
      for (size_t page = 0; page < count; ++page) {
        checksums[page] = capture::page_checksum(bytes.data() + page * kPage);
        skip[page] = checksums[page] == of_zeros;
      }
      writer_.write(Phase::before, region, offset, bytes, {checksums, count}, {skip.get(), count});
    });
  }
}

void Snapshot::write_changes() {
  std::vector<uint64_t> checksums(MemoryAccess::kPiece / kPage);
  const auto skip = std::make_unique<bool[]>(checksums.size());
  for (uint32_t region = 0; region < sources_.size(); ++region) {
    read(access_, sources_[region], [&](uint64_t offset, std::span<const unsigned char> bytes) {
      const size_t count = bytes.size() / kPage;
      const uint64_t* const checksums_before = pages_[region].data() + offset / kPage;
      for (size_t page = 0; page < count; ++page) {
        checksums[page] = capture::page_checksum(bytes.data() + page * kPage);
        skip[page] = checksums[page] == checksums_before[page];
      }
      writer_.write(Phase::after, region, offset, bytes, {checksums.data(), count}, {skip.get(), count});
    });
  }
}

}  // namespace rpd::isolate
