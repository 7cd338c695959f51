#include "memory/allocation_map.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <utility>

namespace rpd {
namespace {

// The last entry that begins at or before `address`, or end().
template <class Map>
auto entry_before(const Map& map, uint64_t address) {
  const auto next = map.upper_bound(address);
  return next == map.begin() ? map.end() : std::prev(next);
}

constexpr uint64_t kNullPage = 4096;

}  // namespace

void AllocationMap::add(uint64_t begin, uint64_t size, Owner owner, bool granted) {
  const std::lock_guard lock(mutex_);
  ranges_[begin] = {size, owner, granted};
}

void AllocationMap::remove(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(begin);
}

Owner AllocationMap::owner(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_before(ranges_, address);
  return entry != ranges_.end() && address - entry->first < entry->second.size ? entry->second.owner : kHost;
}

bool AllocationMap::overlaps(uint64_t begin, uint64_t size) const {
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(begin + size);
  if (next == ranges_.begin()) return false;
  const auto last = std::prev(next);
  return last->first + last->second.size > begin;
}

OwnedRange AllocationMap::placement(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto below = entry_before(ranges_, address);
  if (below != ranges_.end() && address - below->first < below->second.size) {
    return {below->first, below->second.size, below->second.owner};
  }
  const uint64_t begin = below == ranges_.end() ? 0 : below->first + below->second.size;
  const auto above = ranges_.upper_bound(address);
  return {begin, (above == ranges_.end() ? ~uint64_t{0} : above->first) - begin, kHost};
}

void AllocationMap::name(uint64_t begin, uint64_t size) {
  const std::lock_guard lock(mutex_);
  named_[begin] = size;
}

void AllocationMap::forget_name(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  named_.erase(begin);
}

void AllocationMap::forget_host_ranges() {
  const std::lock_guard lock(mutex_);
  host_ranges_.clear();
}

// The part of an allocation that lies around the address and that this process has mapped into the aperture.
AccessWindow AllocationMap::mapped_part(Ranges::const_iterator range, uint64_t aperture, uint64_t address, bool writes) const {
  const AccessWindow mapped = current_host(aperture + address, writes);
  if (!mapped.size) return {};
  const uint64_t begin = std::max(range->first, mapped.begin - aperture);
  return {begin, std::min(range->first + range->second.size, mapped.begin - aperture + mapped.size) - begin};
}

AccessWindow AllocationMap::device_window(uint64_t address, uint64_t aperture, bool writes) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_before(ranges_, address);
  if (entry == ranges_.end() || address - entry->first >= entry->second.size) return {};
  if (!entry->second.granted) return mapped_part(entry, aperture, address, writes);
  AccessWindow window{entry->first, entry->second.size};
  for (auto next = std::next(entry); next != ranges_.end() && next->first == window.begin + window.size; ++next) {
    if (!next->second.granted) break;
    window.size += next->second.size;
  }
  return window;
}

void AllocationMap::read_host_ranges() const {
  host_ranges_.clear();
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (!file) return;
  uint64_t begin, end;
  char rights[5];
  while (std::fscanf(file, "%" SCNx64 "-%" SCNx64 " %4s%*[^\n]", &begin, &end, rights) == 3) {
    host_ranges_[begin] = {end - begin, rights[0] == 'r', rights[1] == 'w'};
  }
  std::fclose(file);
}

AccessWindow AllocationMap::find_host(uint64_t address, bool writes) const {
  const auto entry = entry_before(host_ranges_, address);
  if (entry == host_ranges_.end() || address - entry->first >= entry->second.size) return {};
  const HostRange& range = entry->second;
  if (!range.readable || (writes && !range.writable)) return {};
  AccessWindow window{entry->first, range.size};
  for (auto next = std::next(entry); next != host_ranges_.end() && next->first == window.begin + window.size; ++next) {
    if (!next->second.readable || (writes && !next->second.writable)) break;
    window.size += next->second.size;
  }
  return window;
}

AccessWindow AllocationMap::host_window(uint64_t address, bool writes) const {
  const std::lock_guard lock(mutex_);
  return current_host(address, writes);
}

AccessWindow AllocationMap::current_host(uint64_t address, bool writes) const {
  const AccessWindow window = find_host(address, writes);
  if (window.size) return window;
  read_host_ranges();  // the process may have mapped more memory since the last time
  return find_host(address, writes);
}

AccessWindow AllocationMap::reservation(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  read_host_ranges();
  const auto entry = entry_before(host_ranges_, address);
  if (entry == host_ranges_.end() || address - entry->first >= entry->second.size) return {};
  const HostRange& range = entry->second;
  return range.readable || range.writable ? AccessWindow{} : AccessWindow{entry->first, range.size};
}

bool AllocationMap::is_granted(uint64_t address) const {
  const auto entry = entry_before(ranges_, address);
  return entry == ranges_.end() || address - entry->first >= entry->second.size || entry->second.granted;
}

std::string AllocationMap::describe(uint64_t address) const {
  if (address < kNullPage) return "a null pointer";
  const std::lock_guard lock(mutex_);
  std::map<uint64_t, uint64_t> all = named_;
  if (all.empty()) {
    for (const auto& [begin, range] : ranges_) all[begin] = range.size;
  }
  const auto below = entry_before(all, address);
  const auto above = all.upper_bound(address);
  const uint64_t to_above = above == all.end() ? ~uint64_t{0} : above->first - address;
  char text[128];
  if (below != all.end() && address - below->first < below->second) {
    std::snprintf(text, sizeof text, "byte %" PRIu64 " of an allocation of %" PRIu64 " bytes at 0x%" PRIx64,
                  address - below->first, below->second, below->first);
    return text + (is_granted(address) ? std::string() : ", of another device, to whose memory this one has no access");
  } else if (below != all.end() && address - below->first - below->second <= to_above) {
    std::snprintf(text, sizeof text, "%" PRIu64 " bytes past the end of an allocation of %" PRIu64 " bytes at 0x%" PRIx64,
                  address - below->first - below->second, below->second, below->first);
  } else if (above != all.end()) {
    std::snprintf(text, sizeof text, "%" PRIu64 " bytes before an allocation of %" PRIu64 " bytes at 0x%" PRIx64, to_above,
                  above->second, above->first);
  } else {
    return "nothing is allocated";
  }
  return text;
}

}  // namespace rpd
