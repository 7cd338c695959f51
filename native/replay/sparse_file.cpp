#include "replay/sparse_file.h"

#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "capture/format.h"

namespace rpd::replay {
namespace {

constexpr uint64_t kPage = capture::kPage;

bool is_zero(const unsigned char* page) { return *page == 0 && std::memcmp(page, page + 1, kPage - 1) == 0; }

}  // namespace

void write_sparse(const capture::Folder& folder, const std::string& name, const unsigned char* memory, uint64_t bytes) {
  const std::string path = folder.path() + "/" + name;
  const capture::File file = folder.create(name);
  if (ftruncate(file.descriptor(), static_cast<off_t>(bytes)) != 0) capture::fail_with_errno(path);
  try {
    for (uint64_t page = 0; page < bytes;) {
      if (is_zero(memory + page)) {
        page += kPage;
        continue;
      }
      uint64_t end = page + kPage;
      while (end < bytes && !is_zero(memory + end)) end += kPage;
      capture::write_fully(file.descriptor(), memory + page, end - page, page);
      page = end;
    }
  } catch (const std::runtime_error&) {
    capture::fail_with_errno(path);
  }
}

}  // namespace rpd::replay
