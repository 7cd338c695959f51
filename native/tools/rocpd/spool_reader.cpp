#include "rocpd/spool_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rpd::rocpd {

std::string_view RecordView::string_after(size_t offset, int index) const {
  for (;; --index) {
    uint32_t length;
    if (bytes_.size() - offset < sizeof length) throw SpoolError("a record has too few strings");
    std::memcpy(&length, bytes_.data() + offset, sizeof length);
    offset += sizeof length;
    if (bytes_.size() - offset < length) throw SpoolError("a string is longer than its record");
    if (index == 0) return {reinterpret_cast<const char*>(bytes_.data() + offset), length};
    offset += length;
  }
}

SpoolReader::SpoolReader(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw SpoolError(std::strerror(errno));
  struct stat status{};
  fstat(fd, &status);
  const auto size = static_cast<size_t>(status.st_size);
  void* address = size < spool::kHeaderBytes ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (address == MAP_FAILED) throw SpoolError("not a spool of the rocm-perf tracer");
  file_ = {static_cast<const std::byte*>(address), size};
  std::memcpy(&header_, address, sizeof header_);
  if (std::memcmp(header_.magic, spool::kMagic, sizeof spool::kMagic) != 0)
    throw SpoolError("not a spool of the rocm-perf tracer");
  if (header_.version != spool::kVersion) throw SpoolError("written by a different version of the rocm-perf tracer");
  if (header_.used > size) throw SpoolError("truncated: it is shorter than its header says");
}

SpoolReader::~SpoolReader() {
  if (!file_.empty()) munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

std::span<const std::byte> SpoolReader::record_at(size_t offset) const {
  spool::Record record;
  if (header_.used - offset < sizeof record) throw SpoolError("ends in the middle of a record");
  std::memcpy(&record, file_.data() + offset, sizeof record);
  if (record.bytes < sizeof record || record.bytes % 8 != 0 || record.bytes > header_.used - offset)
    throw SpoolError("a record has an impossible length");
  return file_.subspan(offset, record.bytes);
}

// Releases the memory of whole strides that have been read and reports progress; returns the end of the released part. If it is
// needed again, that part is reread from the file.
size_t SpoolReader::release_until(size_t from, size_t to) const {
  const size_t end = to & ~(kStride - 1);
  madvise(const_cast<std::byte*>(file_.data()) + from, end - from, MADV_DONTNEED);
  progress_();
  return end;
}

}  // namespace rpd::rocpd
