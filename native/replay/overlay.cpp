#include "replay/overlay.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace rpd::replay {

std::vector<Overlay> read_overlays(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> all((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open()) throw InvalidOverlay(path + " cannot be read");
  std::vector<Overlay> overlays;
  uint64_t head[2];
  for (size_t offset = 0; offset < all.size();) {
    if (all.size() - offset < sizeof head) throw InvalidOverlay(path + " ends within a record");
    std::memcpy(head, all.data() + offset, sizeof head);
    offset += sizeof head;
    if (head[1] > all.size() - offset) throw InvalidOverlay(path + " ends within a record");
    overlays.push_back(
        {head[0], {all.begin() + static_cast<ptrdiff_t>(offset), all.begin() + static_cast<ptrdiff_t>(offset + head[1])}});
    offset += head[1];
  }
  return overlays;
}

}  // namespace rpd::replay
