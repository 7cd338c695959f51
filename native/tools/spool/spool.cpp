#include "spool/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace rpd::spool {
namespace {

constexpr uint64_t kWindowBytes = 4 << 20;
constexpr uint64_t kPage = 4096;

uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

// Allocates disk space for part of the file, then maps that part. Without the allocation, a full disk would cause a SIGBUS in
// the traced program. The file is reopened each time, because a descriptor that is kept open could be closed (and its number
// reused) by a program that closes every descriptor it does not recognize.
char* map(const std::string& path, uint64_t begin, uint64_t bytes, int& error) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    error = errno;
    return nullptr;
  }
  error = posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  void* address = MAP_FAILED;
  if (error == 0) {
    address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin));
    if (address == MAP_FAILED) error = errno;
  }
  close(fd);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

}  // namespace

int Spool::create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  close(fd);
  int error = 0;
  char* first = map(path, 0, kHeaderBytes, error);
  if (first == nullptr) {
    unlink(path.c_str());
    return error;
  }
  path_ = path;
  header_ = reinterpret_cast<FileHeader*>(first);
  std::memcpy(header_->magic, kMagic, sizeof kMagic);
  header_->version = kVersion;
  std::atomic_ref(header_->used).store(kHeaderBytes, std::memory_order_release);
  return 0;
}

bool Spool::make_room(uint64_t bytes) {
  if (end_ + bytes <= window_end_) return true;
  const uint64_t begin = end_ & ~(kPage - 1);
  const uint64_t size = std::max(kWindowBytes, (end_ - begin + bytes + kPage - 1) & ~(kPage - 1));
  int error = 0;
  char* window = map(path_, begin, size, error);
  if (window == nullptr) return false;
  if (window_ != nullptr) munmap(window_, window_end_ - window_begin_);
  window_ = window;
  window_begin_ = begin;
  window_end_ = begin + size;
  return true;
}

void Spool::write(Record& record, size_t fixed_bytes, std::initializer_list<std::string_view> strings,
                  std::span<const std::byte> array) {
  uint64_t text = 0;
  for (std::string_view s : strings) text += sizeof(uint32_t) + s.size();
  const uint64_t bytes = fixed_bytes + padded(text) + padded(array.size());
  record.bytes = static_cast<uint32_t>(bytes);

  std::lock_guard lock(mutex_);
  full_ = full_ || !make_room(bytes);
  if (full_) {
    ++header_->lost;
    return;
  }
  char* const begin = window_ + (end_ - window_begin_);
  std::memcpy(begin, &record, fixed_bytes);
  char* to = begin + fixed_bytes;
  for (std::string_view s : strings) {
    const auto length = static_cast<uint32_t>(s.size());
    std::memcpy(to, &length, sizeof length);
    std::memcpy(to + sizeof length, s.data(), s.size());
    to += sizeof length + s.size();
  }
  if (!array.empty()) std::memcpy(begin + fixed_bytes + padded(text), array.data(), array.size());
  end_ += bytes;
  std::atomic_ref(header_->used).store(end_, std::memory_order_release);
}

}  // namespace rpd::spool
