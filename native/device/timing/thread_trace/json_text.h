// Writes JSON text directly: thread traces are too large to be built as documents in memory first.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace rpd {

class JsonText {
 public:
  JsonText& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  JsonText& number(std::integral auto value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  JsonText& string(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') (text_ += '\\') += c;
      else if (code < 0x20) ((text_ += "\\u00") += "01"[code >> 4]) += "0123456789abcdef"[code & 0xf];
      else text_ += c;
    }
    text_ += '"';
    return *this;
  }
  // Writes each element of `range` by calling `write`, with brackets around the list and commas between elements.
  template <class Range, class Write>
  JsonText& list(const Range& range, Write write) {
    text_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!first) text_ += ',';
      first = false;
      write(element);
    }
    text_ += ']';
    return *this;
  }
  JsonText& numbers(std::initializer_list<uint64_t> values) {
    return list(values, [&](uint64_t value) { number(value); });
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace rpd
