#include "replay/overlay.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace rpd::replay {

std::vector<Overlay> read_overlays(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> all((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open()) throw WrongOverlay(path + " cannot be read");
  std::vector<Overlay> overlays;
  uint64_t head[2];
  for (size_t at = 0; at < all.size();) {
    if (all.size() - at < sizeof head) throw WrongOverlay(path + " ends within a record");
    std::memcpy(head, all.data() + at, sizeof head);
    at += sizeof head;
    if (head[1] > all.size() - at) throw WrongOverlay(path + " ends within a record");
    overlays.push_back(
        {head[0], {all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + head[1])}});
    at += head[1];
  }
  return overlays;
}

}  // namespace rpd::replay
