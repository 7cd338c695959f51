// Reads a spool file, checking every length: if the writer is run by hand, the file may come from anywhere.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "spool/format.h"

namespace rpd::rocpd {

class SpoolError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One record in the mapped file.
class RecordView {
 public:
  explicit RecordView(std::span<const std::byte> bytes) : bytes_(bytes) {}

  spool::Kind kind() const { return fixed_part<spool::Record>().kind; }

  // A copy of the fixed part.
  template <class T>
  T fixed_part() const {
    if (bytes_.size() < sizeof(T)) throw SpoolError("a record is too short for its kind");
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }

  // The string with this index (from 0) among the strings that follow a fixed part of type T.
  template <class T>
  std::string_view string(int index) const {
    return string_after(sizeof(T), index);
  }

  // Copies `count` array elements that follow a fixed part of type T.
  template <class T, class Element>
  void array(size_t count, Element* into) const {
    if ((bytes_.size() - sizeof(T)) / sizeof(Element) < count) throw SpoolError("an array is longer than its record");
    std::memcpy(into, bytes_.data() + sizeof(T), count * sizeof(Element));
  }

 private:
  std::string_view string_after(size_t offset, int index) const;

  std::span<const std::byte> bytes_;
};

class SpoolReader {
 public:
  // Maps the file. Throws SpoolError if the file cannot be read or is not a spool of this version.
  explicit SpoolReader(const std::string& path);
  ~SpoolReader();
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;

  uint64_t lost() const { return header_.lost; }
  uint64_t bytes() const { return header_.used; }

  // Sets a function to be called from time to time while the spool is read.
  void on_progress(std::function<void()> call) { progress_ = std::move(call); }

  template <class Visit>
  void for_each(Visit visit) const {
    size_t reported = 0;
    for (size_t offset = spool::kHeaderBytes; offset < header_.used;) {
      if (offset - reported >= kStride) reported = release_until(reported, offset);
      const auto record = record_at(offset);
      visit(RecordView(record));
      offset += record.size();
    }
  }

 private:
  static constexpr size_t kStride = 4 << 20;

  std::span<const std::byte> record_at(size_t offset) const;
  size_t release_until(size_t from, size_t to) const;

  std::function<void()> progress_ = [] {};
  std::span<const std::byte> file_;
  spool::FileHeader header_{};
};

}  // namespace rpd::rocpd
