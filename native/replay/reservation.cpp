#include "replay/reservation.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rpd::replay {
namespace {

constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

Placement reserved(Placement range) {
  auto* const wanted = reinterpret_cast<void*>(range.base);
  void* mapping = mmap(wanted, range.bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapping == wanted) {
    range.outcome = Outcome::exact, range.actual = range.base;
    return range;
  }
  const int error = mapping == MAP_FAILED ? errno : EEXIST;
  if (mapping == MAP_FAILED) mapping = mmap(wanted, range.bytes, PROT_NONE, kFlags, -1, 0);
  if (mapping == MAP_FAILED) {
    range.outcome = Outcome::failed, range.why = std::strerror(errno);
    return range;
  }
  range.outcome = Outcome::relocated, range.actual = reinterpret_cast<uint64_t>(mapping);
  range.why = error == EEXIST ? "this process already uses these addresses" : std::strerror(error);
  munmap(mapping, range.bytes);
  return range;
}

}  // namespace

std::vector<Placement> reserve(const std::vector<Placement>& ranges) {
  std::vector<Placement> placements;
  for (const Placement& range : ranges) placements.push_back(reserved(range));
  return placements;
}

Outcome worst(const std::vector<Placement>& placements) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(placements.begin(), placements.end(), [&](const Placement& p) { return p.outcome == outcome; });
  };
  return any(Outcome::failed) ? Outcome::failed : any(Outcome::relocated) ? Outcome::relocated : Outcome::exact;
}

const Placement* first_not_exact(const std::vector<Placement>& placements) {
  for (const Placement& placement : placements)
    if (placement.outcome != Outcome::exact) return &placement;
  return nullptr;
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::exact: return "exact";
    case Outcome::relocated: return "relocated";
    default: return "failed";
  }
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace rpd::replay
