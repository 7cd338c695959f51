// XXH3 checksums of pages, of blocks (computed from their pages' checksums), and of small files.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <span>
#include <string>

#include "capture/format.h"

namespace rpd::capture {

inline uint64_t page_checksum(const void* page) { return XXH3_64bits(page, kPage); }

inline Checksum block_checksum(std::span<const uint64_t> pages) {
  const XXH128_hash_t hash = XXH3_128bits(pages.data(), pages.size_bytes());
  return {hash.low64, hash.high64};
}

inline Checksum block_checksum_of(const unsigned char* bytes, uint64_t size) {
  uint64_t pages[kBlock / kPage];
  for (uint64_t page = 0; page < size / kPage; ++page) pages[page] = page_checksum(bytes + page * kPage);
  return block_checksum({pages, size / kPage});
}

// The checksum as `xxhsum -H2` prints it.
inline std::string text_checksum(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}
inline std::string text_checksum(const std::string& bytes) { return text_checksum(bytes.data(), bytes.size()); }

}  // namespace rpd::capture
