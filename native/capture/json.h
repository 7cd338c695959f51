// Converts the descriptions in a capture to and from JSON. Reading invalid text throws InvalidCapture.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/format.h"

namespace rpd::capture {

struct InvalidCapture : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileEntry {
  uint64_t bytes = 0;
  std::string checksum;  // empty if the checksums in the index files cover the content
};
using Manifest = std::map<std::string, FileEntry>;

std::string to_json(const Dispatch& dispatch);
std::string to_json(const std::vector<Region>& regions);
std::string to_json(const Manifest& manifest);

Dispatch dispatch_from_json(const std::string& text);
std::vector<Region> regions_from_json(const std::string& text);
Manifest manifest_from_json(const std::string& text);

}  // namespace rpd::capture
