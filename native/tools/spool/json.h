// A minimal JSON writer that builds the text from start to finish.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace rpd::spool {

inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out += '"';
}

class JsonObject {
 public:
  JsonObject& raw(std::string_view key, std::string_view json) {
    text_ += text_.size() > 1 ? "," : "";
    text_ += json_string(key);
    text_ += ':';
    text_ += json;
    return *this;
  }
  JsonObject& number(std::string_view key, uint64_t value) { return raw(key, std::to_string(value)); }
  JsonObject& text(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
  std::string str() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace rpd::spool
