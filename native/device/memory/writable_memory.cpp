#include "memory/writable_memory.h"

#include <hsa/amd_hsa_signal.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rpd {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t size_of(uint64_t size) { return size; }

// The entry that contains `address`, or end().
template <class Map, class Size>
auto entry_around(const Map& map, uint64_t address, Size size) {
  const auto next = map.upper_bound(address);
  if (next == map.begin()) return map.end();
  const auto before = std::prev(next);
  return address - before->first < size(before->second) ? before : map.end();
}

}  // namespace

AccessWindow without(AccessWindow window, uint64_t address, uint64_t begin, uint64_t size) {
  if (size == 0) return window;
  if (address - begin < size) return {};
  const uint64_t end = window.begin + window.size;
  if (address < begin) return {window.begin, std::min(end, begin) - window.begin};
  const uint64_t first = std::max(window.begin, begin + size);
  return {first, end - first};
}

void WritableMemory::add(uint64_t begin, uint64_t size) {
  if (size == 0) return;
  const std::lock_guard lock(mutex_);
  // A call that gives advice on part of an allocation looks like an allocation of that part.
  const auto around = entry_around(own_, begin, size_of);
  if (around != own_.end() && size <= around->second - (begin - around->first)) return;
  own_[begin] = size;
}

void WritableMemory::remove(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  own_.erase(begin);
}

void WritableMemory::protect(uint64_t begin, uint64_t size, const char* contents, bool may_be_read) {
  const std::lock_guard lock(mutex_);
  if (size != 0) protected_[begin] = {size, contents, may_be_read};
}

void WritableMemory::unprotect(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  protected_.erase(begin);
}

void WritableMemory::add_signal(uint64_t signal, uint64_t mailbox) {
  const std::lock_guard lock(mutex_);
  signals_[signal] = {mailbox, false};
  if (mailbox != 0) mailboxes_.insert(mailbox);
}

void WritableMemory::remove_signal(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  const auto entry = signals_.find(signal);
  if (entry == signals_.end()) return;
  mailboxes_.erase(entry->second.mailbox);
  signals_.erase(entry);
}

void WritableMemory::mark_as_completion_signal(uint64_t signal) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = signals_.find(signal); entry != signals_.end()) entry->second.completion = true;
}

AccessWindow WritableMemory::writable(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  return own_window(address);
}

AccessWindow WritableMemory::readable(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_around(protected_, address, [](const ProtectedRange& range) { return range.size; });
  if (entry == protected_.end()) return own_window(address);
  return entry->second.may_be_read ? AccessWindow{entry->first, entry->second.size} : AccessWindow{};
}

AccessWindow WritableMemory::allocation_around(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_around(own_, address, size_of);
  return entry == own_.end() ? AccessWindow{} : AccessWindow{entry->first, entry->second};
}

AccessWindow WritableMemory::pages(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const uint64_t page = address / kPageBytes * kPageBytes;
  const auto next = own_.lower_bound(page + kPageBytes);
  if (next == own_.begin()) return {};
  const auto& [begin, size] = *std::prev(next);
  if (begin + size <= page) return {};
  const uint64_t first = begin / kPageBytes * kPageBytes, end = (begin + size + kPageBytes - 1) / kPageBytes * kPageBytes;
  return {first, end - first};
}

// Requires mutex_.
AccessWindow WritableMemory::own_window(uint64_t address) const {
  const auto entry = entry_around(own_, address, size_of);
  if (entry == own_.end()) return {};
  AccessWindow window{entry->first, entry->second};
  for (auto next = std::next(entry); next != own_.end() && next->first <= window.begin + window.size; ++next) {
    window.size = std::max(window.size, next->first + next->second - window.begin);
  }
  // Protected ranges do not overlap, so only the nearest range on either side of the address can shrink the window.
  auto above = protected_.upper_bound(address);
  if (above != protected_.end()) window = without(window, address, above->first, above->second.size);
  if (above != protected_.begin()) {
    const auto below = std::prev(above);
    window = without(window, address, below->first, below->second.size);
  }
  return window;
}

// To raise a signal, a kernel also has to read which word wakes the signal's waiters.
bool WritableMemory::may_signal(uint64_t address, uint32_t bytes, bool writes) const {
  const std::lock_guard lock(mutex_);
  if (bytes == sizeof(uint64_t) && mailboxes_.contains(address)) return true;
  const auto entry = entry_around(signals_, address, [](const Signal&) { return sizeof(amd_signal_t); });
  if (entry == signals_.end() || entry->second.completion) return false;
  if (!writes) return AccessWindow{entry->first, sizeof(amd_signal_t)}.holds(address, bytes);
  const AccessWindow value{entry->first + offsetof(amd_signal_t, value), sizeof(amd_signal_t::value)};
  return value.holds(address, bytes);
}

std::string WritableMemory::describe(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_around(protected_, address, [](const ProtectedRange& range) { return range.size; });
  if (entry != protected_.end()) return entry->second.contents;
  const auto signal = entry_around(signals_, address, [](const Signal&) { return sizeof(amd_signal_t); });
  return signal != signals_.end() ? "a signal" : "";
}

}  // namespace rpd
