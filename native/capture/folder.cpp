#include "capture/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace rpd::capture {

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void fail_with_errno(const std::string& message) { throw FileError(message + ": " + std::strerror(errno)); }

Folder::Folder(const std::string& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!descriptor_) fail_with_errno(path);
}

bool Folder::has(const std::string& name) const {
  return faccessat(descriptor_.descriptor(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

File Folder::open(const std::string& name, uint64_t& bytes) const {
  const size_t slash = name.find('/');
  int folder = descriptor_.descriptor();
  File inner;
  if (slash != std::string::npos) {  // O_NOFOLLOW applies only to the last part of a path
    inner = File(openat(folder, name.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) return File();
    folder = inner.descriptor();
  }
  const char* last = slash == std::string::npos ? name.c_str() : name.c_str() + slash + 1;
  File file(openat(folder, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return File();
  bytes = static_cast<uint64_t>(status.st_size);
  return file;
}

void Folder::make_folder(const std::string& name) const {
  if (mkdirat(descriptor_.descriptor(), name.c_str(), 0777) != 0) fail_with_errno(path_ + "/" + name);
}

File Folder::create(const std::string& name) const {
  File file(openat(descriptor_.descriptor(), name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) fail_with_errno(path_ + "/" + name);
  return file;
}

void Folder::write(const std::string& name, const void* bytes, size_t size) const {
  const File file = create(name);
  try {
    write_fully(file.descriptor(), bytes, size, 0);
  } catch (const std::runtime_error&) {
    fail_with_errno(path_ + "/" + name);
  }
}

void Folder::rename(const std::string& from, const std::string& to) const {
  if (renameat(descriptor_.descriptor(), from.c_str(), descriptor_.descriptor(), to.c_str()) != 0)
    fail_with_errno(path_ + "/" + to);
}

void Folder::remove(const std::string& name) const {
  if (unlinkat(descriptor_.descriptor(), name.c_str(), 0) != 0 && errno != ENOENT) fail_with_errno(path_ + "/" + name);
}

void write_fully(int file, const void* bytes, size_t size, uint64_t position) {
  const auto* source = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(file, source, size, static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_with_errno("write");
    source += written, position += static_cast<uint64_t>(written), size -= static_cast<size_t>(written);
  }
}

bool read_fully(int file, void* bytes, size_t size, uint64_t position) {
  auto* destination = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = pread(file, destination, size, static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    destination += count, position += static_cast<uint64_t>(count), size -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace rpd::capture
