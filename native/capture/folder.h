// Access to the files in one folder, through names that cannot lead outside it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rpd::capture {

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  File& operator=(File&& other) noexcept;
  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws FileError: "WHAT: strerror".
[[noreturn]] void fail_with_errno(const std::string& message);

class Folder {
 public:
  explicit Folder(const std::string& path);  // throws unless the folder exists

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const;

  // For reading. Returns an invalid File if there is no such regular file; links are not followed.
  File open(const std::string& name, uint64_t& bytes) const;

  // For writing. These functions throw FileError.
  void make_folder(const std::string& name) const;
  File create(const std::string& name) const;
  void write(const std::string& name, const void* bytes, size_t size) const;
  void rename(const std::string& from, const std::string& to) const;
  void remove(const std::string& name) const;

 private:
  std::string path_;
  File descriptor_;
};

// Transfer all bytes or fail: write_fully throws, read_fully returns false.
void write_fully(int file, const void* bytes, size_t size, uint64_t position);
bool read_fully(int file, void* bytes, size_t size, uint64_t position);

}  // namespace rpd::capture
