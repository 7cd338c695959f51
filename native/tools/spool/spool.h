// Appends records to the spool through a shared mapping: once append() has returned, the record survives however the process
// ends (exit, abort, _exit, SIGKILL), because the pages belong to the operating system. Most records need no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "spool/format.h"

namespace rpd::spool {

class Spool {
 public:
  // Creates `path`, which must not exist. Returns 0 or an errno.
  int create(const std::string& path);

  // Appends one record: its fixed part (whose kind and size are filled in here), its strings and its array.
  template <class T>
  void append(Kind kind, T record, std::initializer_list<std::string_view> strings = {},
              std::span<const std::byte> array = {}) {
    record.kind = kind;
    write(record, sizeof(T), strings, array);
  }

  const std::string& path() const { return path_; }

 private:
  void write(Record& record, size_t fixed_bytes, std::initializer_list<std::string_view> strings,
             std::span<const std::byte> array);
  bool make_room(uint64_t bytes);

  std::mutex mutex_;
  std::string path_;
  FileHeader* header_ = nullptr;
  char* window_ = nullptr;  // maps the file's bytes [window_begin_, window_end_)
  uint64_t window_begin_ = 0, window_end_ = 0;
  uint64_t end_ = kHeaderBytes;
  bool full_ = false;  // set when a record finds no room; later records would only hide the gap
};

}  // namespace rpd::spool
