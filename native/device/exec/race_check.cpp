#include "exec/race_check.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <numeric>

namespace rpd {
namespace {

constexpr uint64_t kShadowLimit = uint64_t{1} << 30;  // bytes, for global memory

const char* name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::Load: return "load";
    case AccessKind::Store: return "store";
    default: return "atomic";
  }
}

bool has_wide_scope(const Op& op) { return std::strstr(op.text, " sc1") != nullptr; }

}  // namespace

void RaceCheck::begin(const Kernel& kernel) {
  order_.seed(seed_);
  entry_ = kernel.entry;
  const uint64_t count = kernel.group_count();
  start_ = order_() % count;
  do stride_ = order_() % count + 1;
  while (std::gcd(stride_, count) != 1);
}

uint64_t RaceCheck::permuted(uint64_t group, uint64_t group_count) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(group) * stride_ + start_) % group_count);
}

RaceCheck::Place* RaceCheck::global_place(uint64_t word) {
  auto& page = pages_[word / kPagePlaces];
  if (!page) {
    if (pages_.size() * sizeof(Page) > kShadowLimit) {
      full_ = true;
      pages_.erase(word / kPagePlaces);
      return nullptr;
    }
    page = std::make_unique<Page>();
  }
  return &(*page)[word % kPagePlaces];
}

RaceCheck::Place& RaceCheck::lds_place(const Wave& wave, uint64_t word) {
  auto& [group, places] = lds_[wave.group];
  if (places.empty() || group != wave.group->id) {  // another workgroup now runs there
    group = wave.group->id;
    places.assign(wave.lds_bytes / kPlaceBytes + 1, Place{});
  }
  return places[word];
}

void RaceCheck::access(const Wave& wave, const Op& op, const VectorAccess& access) {
  if (access.space == Space::Scratch) return;
  Access now;
  now.op = &op;
  now.group = static_cast<uint32_t>(wave.group->id);
  now.epoch = wave.group->epoch;
  now.wave = static_cast<uint16_t>(wave.index_in_group);
  now.atomic = access.kind == AccessKind::Atomic || has_wide_scope(op);
  if (const auto clock = clocks_.find(now.group); clock != clocks_.end()) {
    now.releases = static_cast<uint32_t>(clock->second.releases.size());
  }
  for (uint64_t left = access.mask; left; left &= left - 1) {
    const uint64_t begin = access.address[std::countr_zero(left)];
    const uint64_t end = begin + access.bytes;
    for (uint64_t word = begin / kPlaceBytes; word * kPlaceBytes < end; ++word) {
      const uint64_t first = std::max(begin, word * kPlaceBytes) % kPlaceBytes;
      const uint64_t last = std::min(end, (word + 1) * kPlaceBytes) - word * kPlaceBytes;
      now.bytes = static_cast<uint8_t>((1u << last) - (1u << first));
      Place* place = access.space == Space::Lds ? &lds_place(wave, word) : global_place(word);
      if (place) touch(*place, now, access.kind, access.space, word * kPlaceBytes + first);
    }
  }
}

void RaceCheck::touch(Place& place, const Access& now, AccessKind kind, Space space, uint64_t address) {
  const AccessKind write_kind = place.write.atomic ? AccessKind::Atomic : AccessKind::Store;
  compare(place.write, write_kind, now, kind, space, address);
  if (kind == AccessKind::Load) {
    if (space == Space::Lds && (now.bytes & ~place.written)) note({{}, now, kind, kind, space, address});
    // The same wave's earlier read gives way, else the older one of another epoch.
    Access* slot = &place.reads[0];
    for (Access& read : place.reads) {
      if (read.op && read.group == now.group && read.wave == now.wave) slot = &read;
    }
    if (slot->op && !(slot->group == now.group && slot->wave == now.wave)) {
      slot = place.reads[1].op && ordered(place.reads[0], now) ? &place.reads[0] : &place.reads[1];
    }
    *slot = now;
    return;
  }
  for (const Access& read : place.reads) compare(read, AccessKind::Load, now, kind, space, address);
  place.write = now;
  place.written |= now.bytes;
}

bool RaceCheck::ordered(const Access& before, const Access& now) const {
  if (before.group == now.group) return before.wave == now.wave || before.epoch != now.epoch;
  const auto from = clocks_.find(before.group), to = clocks_.find(now.group);
  if (from == clocks_.end() || to == clocks_.end()) return false;
  const auto& releases = from->second.releases;
  return before.releases < releases.size() && releases[before.releases] < to->second.acquired;
}

void RaceCheck::compare(const Access& before, AccessKind before_kind, const Access& now, AccessKind kind, Space space,
                        uint64_t address) {
  if (!before.op || !(before.bytes & now.bytes) || (before.atomic && now.atomic) || ordered(before, now)) return;
  note({before, now, before_kind, kind, space, address});
}

void RaceCheck::note(const Finding& finding) {
  const uint64_t first = finding.first.op ? finding.first.op->address : 0;
  const uint64_t second = finding.second.op->address;
  const Pair pair{std::min(first, second), std::max(first, second), static_cast<uint64_t>(finding.space)};
  ++found_.try_emplace(pair, finding).first->second.count;
}

// buffer_wbl2 writes back, which is what a release does; buffer_inv drops what is stale, which is what an acquire does.
void RaceCheck::fence(const Wave& wave, const Op& op) {
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  ++fences_;
  if (std::strncmp(op.text, "buffer_wb", 9) == 0) clock.releases.push_back(fences_);
  else clock.acquired = fences_;
}

std::string RaceCheck::describe(const Finding& finding) const {
  const char* memory = finding.space == Space::Lds ? "LDS" : "global memory";
  char text[1024];
  const Access& now = finding.second;
  if (!finding.first.op) {
    std::snprintf(text, sizeof text,
                  "read of LDS that nothing has written, %lu times, first at LDS address 0x%lx by wave %u of workgroup %u at "
                  "entry + 0x%lx (%s)",
                  finding.count, finding.address, now.wave, now.group, now.op->address - entry_, now.op->text);
    return text;
  }
  const Access& before = finding.first;
  std::snprintf(text, sizeof text,
                "race in %s, %lu times, first at address 0x%lx: %s by wave %u of workgroup %u at entry + 0x%lx (%s) and %s by "
                "wave %u of workgroup %u at entry + 0x%lx (%s) are not ordered",
                memory, finding.count, finding.address, name_of(finding.first_kind), before.wave, before.group,
                before.op->address - entry_, before.op->text, name_of(finding.second_kind), now.wave, now.group,
                now.op->address - entry_, now.op->text);
  return text;
}

std::vector<std::string> RaceCheck::end() {
  std::vector<std::string> lines;
  for (const auto& [pair, finding] : found_) {
    if (reported_.emplace(pair, true).second) lines.push_back(describe(finding));
  }
  if (full_) {
    lines.push_back("the kernel touches more global memory than the race check can watch (" +
                    std::to_string(kShadowLimit / sizeof(Page) * kPagePlaces * kPlaceBytes >> 20) +
                    " MiB): races beyond that were not looked for");
  }
  full_ = false;
  found_.clear();
  pages_.clear();
  lds_.clear();
  clocks_.clear();
  fences_ = 0;
  return lines;
}

}  // namespace rpd
