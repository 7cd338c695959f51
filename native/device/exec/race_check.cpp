#include "exec/race_check.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>

#include "exec/register_indexing.h"
#include "isa/target.h"

namespace rpd {
namespace {

constexpr uint64_t kShadowLimit = uint64_t{1} << 30;  // the limit, in bytes, for the shadow memory of global memory

const char* name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::Load: return "load";
    case AccessKind::Store: return "store";
    default: return "atomic";
  }
}

// "v4"
std::string name_of(const OutstandingAccesses::EarlyUse& use) {
  const char letter = use.kind == Operand::Kind::Vector ? 'v' : use.kind == Operand::Kind::Accumulator ? 'a' : 's';
  if (letter == 's' && use.reg >= kVcc && use.reg < kVcc + 2) return "vcc";
  if (letter == 's' && use.reg == kM0) return "m0";
  return letter + std::to_string(use.reg);
}

template <class... Values>
std::string format(const char* text, Values... values) {
  char out[1024];
  std::snprintf(out, sizeof out, text, values...);
  return out;
}

// Whether at least one of two atomic accesses is a load or a store rather than a read-modify-write.
bool is_load_or_store(const Op& before, const Op& now) {
  return before.semantics->unit != Unit::VectorAtomic || now.semantics->unit != Unit::VectorAtomic;
}

bool scopes_are_named() { return target_of_device().names_scopes; }

bool is_atomic(const Op& op, AccessKind kind) {
  if (kind == AccessKind::Atomic) return true;
  return scopes_are_named() ? op.sc1 : kind == AccessKind::Load && op.sc1 && !op.nt;
}

bool reads(const Op& op, AccessKind kind) { return kind == AccessKind::Load || (kind == AccessKind::Atomic && op.returns); }

}  // namespace

void RaceCheck::begin(const DispatchedKernel& kernel) {
  order_.seed(seed_);
  entry_ = kernel.entry;
  const uint64_t count = kernel.group_count();
  start_ = 0;
  stride_ = 1;
  if (seed_ == 0) return;
  start_ = order_() % count;
  do stride_ = order_() % count + 1;
  while (std::gcd(stride_, count) != 1);
}

uint64_t RaceCheck::permuted(uint64_t group, uint64_t group_count) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(group) * stride_ + start_) % group_count);
}

size_t RaceCheck::paused_wave(const Workgroup& group) const {
  constexpr uint64_t kTurns = 64;
  const size_t count = group.waves.size();
  if (seed_ == 0) return count;
  std::seed_seq drawn{seed_, group.id, group.turns / kTurns};
  uint32_t value = 0;
  drawn.generate(&value, &value + 1);
  return value % (count + 1);
}

RaceCheck::ShadowCell* RaceCheck::global_cell(uint64_t word) {
  auto& page = pages_[word / kPageCells];
  if (!page) {
    if (pages_.size() * sizeof(Page) > kShadowLimit) {
      full_ = true;
      pages_.erase(word / kPageCells);
      return nullptr;
    }
    page = std::make_unique<Page>();
  }
  return &(*page)[word % kPageCells];
}

const RaceCheck::ShadowCell* RaceCheck::known_global_cell(uint64_t word) const {
  const auto page = pages_.find(word / kPageCells);
  return page == pages_.end() ? nullptr : &(*page->second)[word % kPageCells];
}

std::vector<RaceCheck::ShadowCell>& RaceCheck::lds_cells(const Wave& wave) {
  auto& [group, cells] = lds_[wave.group];
  if (cells.empty() || group != wave.group->id) {  // the object now holds a different workgroup
    group = wave.group->id;
    cells.assign(wave.lds_bytes / kCellBytes + 1, ShadowCell{});
  }
  return cells;
}

void RaceCheck::issue(const Wave& wave, const Op& op) {
  if (!op.semantics) return;
  issuing_ = &op;
  if (op.semantics->cache_control == CacheControl::InvalidateScalar)
    invalidated_.emplace(static_cast<uint32_t>(wave.group->id), wave.index_in_group);
  OutstandingAccesses& outstanding = this->outstanding(wave);
  if (outstanding.loads()) look_for_early_use(wave, op);
  if (op.semantics->unit == Unit::Barrier) late_ |= outstanding.arrive(wave.group->epoch);
  outstanding.issue(op, wave.exec() != 0);
  if (!writes_back(op) || !scopes_are_named()) return;
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  ++clock.begun;
  if (op.sc0 && op.sc1) clock.unreleased = nullptr;
  release(wave);
}

void RaceCheck::look_for_early_use(const Wave& wave, const Op& op) {
  OutstandingAccesses& outstanding = this->outstanding(wave);
  const auto use =
      wave.mode & kModeGprIndex ? outstanding.take_early_use(with_index(op, wave)) : outstanding.take_early_use(op);
  if (!use) return;
  note({use->load->address, op.address, FindingKind::EarlyUse}, [&] {
    return Finding{
        name_of(*use) + " is used before the load at " + position(*use->load) + " has been waited for: at " + position(op),
        format("by wave %u of workgroup %lu", wave.index_in_group, wave.group->id)};
  });
}

RaceCheck::Access RaceCheck::access_now(const Wave& wave, const Op& op, const VectorAccess& access) {
  QueuePosition in_queue{CompletionQueue::Vector, outstanding(wave).issued(CompletionQueue::Vector)};
  if (access.space == Space::Lds) in_queue = outstanding(wave).reach_lds(op, access.mask == wave.exec());
  Access now;
  now.op = &op;
  now.group = static_cast<uint32_t>(wave.group->id);
  now.epoch = wave.group->epoch;
  now.number = in_queue.number;
  now.queue = static_cast<uint32_t>(in_queue.queue) & 3;
  now.wave = wave.index_in_group & 15;
  now.atomic = is_atomic(op, access.kind);
  if (const auto clock = clocks_.find(now.group); clock != clocks_.end()) {
    now.releases = static_cast<uint32_t>(clock->second.begun) & 0x1fffff;
  }
  return now;
}

void RaceCheck::access(const Wave& wave, const Op& op, const VectorAccess& access) {
  if (access.space == Space::Scratch) return;
  group_ = wave.group;
  Access now = access_now(wave, op, access);
  if (unordered_atomics_ && access.space == Space::Global && access.kind != AccessKind::Load) {
    look_for_order_towards_host(wave, op, access);
  }
  if (access.space == Space::Global && !scopes_are_named()) ++clocks_[now.group].accesses;
  if (access.space == Space::Global && now.atomic) {
    send_or_receive(wave, op, access);
    if (access.kind != AccessKind::Load) look_for_unfinished_release(wave, op);
    if (access.kind == AccessKind::Atomic) publish(wave, op, access);
    if (reordering_.any() && access.kind != AccessKind::Store) note_observation(wave, access);
  }
  std::vector<ShadowCell>* const lds = access.space == Space::Lds ? &lds_cells(wave) : nullptr;
  for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1) {
    const uint64_t begin = access.at(std::countr_zero(remaining));
    const uint64_t end = begin + access.bytes;
    for (uint64_t word = begin / kCellBytes; word * kCellBytes < end; ++word) {
      const uint64_t first = std::max(begin, word * kCellBytes) % kCellBytes;
      const uint64_t last = std::min(end, (word + 1) * kCellBytes) - word * kCellBytes;
      now.bytes = ((1u << last) - (1u << first)) & 15;
      ShadowCell* cell = lds ? &(*lds)[word] : global_cell(word);
      if (cell) touch(*cell, now, access.kind, access.space, word * kCellBytes + first);
    }
  }
}

void RaceCheck::scalar_access(const Wave& wave, uint64_t address, uint32_t bytes) {
  const auto group = static_cast<uint32_t>(wave.group->id);
  if (invalidated_.contains({group, wave.index_in_group})) return;
  for (uint64_t word = address / kCellBytes; word * kCellBytes < address + bytes; ++word) {
    const ShadowCell* cell = known_global_cell(word);
    if (!cell || !cell->written) continue;
    note({cell->write.op->address, issuing_->address, FindingKind::StaleScalar}, [&] {
      return Finding{"scalar load of what the dispatch has written, which the scalar cache may not see",
                     format("at address 0x%lx: written ", word * kCellBytes) + who(cell->write) +
                         format(", loaded by wave %u of workgroup %u at ", wave.index_in_group, group) + position(*issuing_)};
    });
    return;
  }
}

// An atomic that announces a write-back must not be issued before the written data has been waited for.
void RaceCheck::look_for_unfinished_release(const Wave& wave, const Op& op) {
  const Op* write_back = outstanding(wave).write_back();
  if (!write_back) return;
  note({write_back->address, op.address, FindingKind::UnfinishedRelease}, [&] {
    return Finding{"what the write-back at " + position(*write_back) + " writes had not been waited for when the atomic at " +
                       position(op) + " was issued, so others may see the atomic first",
                   format("by wave %u of workgroup %lu", wave.index_in_group, wave.group->id)};
  });
}

void RaceCheck::look_for_order_towards_host(const Wave& wave, const Op& op, const VectorAccess& access) {
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  const bool for_the_host = op.sc1 && (op.sc0 || access.kind == AccessKind::Atomic);
  const Op* before = for_the_host ? clock.unreleased : clock.for_the_host;
  if (before && before != &op) {
    note({before->address, op.address, for_the_host ? FindingKind::Unreleased : FindingKind::AfterMessage}, [&] {
      return Finding{
          for_the_host
              ? "the host may see what is written at " + position(op) + " before what was written at " + position(*before)
              : "the host may miss what is written at " + position(op) + " after its message at " + position(*before),
          format("at address 0x%lx by wave %u of workgroup %lu", access.at(std::countr_zero(access.mask)), wave.index_in_group,
                 wave.group->id)};
    });
  }
  clock.unreleased = &op;
  if (for_the_host) clock.for_the_host = &op;
}

// Records the workgroup's stores at agent or system scope that may be in flight when the atomic is issued.
void RaceCheck::publish(const Wave& wave, const Op& op, const VectorAccess& access) {
  const bool waited = !scopes_are_named() && outstanding(wave).waited_epochs() == wave.group->epoch + 1;
  for (const Wave& other : wave.group->waves) {
    if (waited && other.index_in_group != wave.index_in_group) continue;
    const auto [completed, last] = outstanding(other).wide_stores();
    if (last <= completed) continue;
    for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1) {
      reordering_.add({static_cast<uint32_t>(wave.group->id), other.index_in_group}, completed, last, op, wave.index_in_group,
                      wave.group->epoch, access.at(std::countr_zero(remaining)) / kCellBytes);
    }
  }
}

void RaceCheck::send_or_receive(const Wave& wave, const Op& op, const VectorAccess& access) {
  if (fences_ == 0) return;
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  const uint64_t released = clock.releases.empty() ? 0 : clock.releases.back().time;
  for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1) {
    uint64_t& message = messages_[access.at(std::countr_zero(remaining)) / kCellBytes];
    if (reads(op, access.kind)) clock.received = std::max(clock.received, message);
    if (access.kind != AccessKind::Load) message = std::max(message, released);
  }
}

void RaceCheck::note_observation(const Wave& wave, const VectorAccess& access) {
  for (uint64_t remaining = access.mask; remaining; remaining &= remaining - 1) {
    reordering_.note_observation(static_cast<uint32_t>(wave.group->id), access.at(std::countr_zero(remaining)) / kCellBytes);
  }
}

void RaceCheck::look_for_reordering(const Access& write, const Access& now, AccessKind kind, uint64_t address) {
  if (!reads(*now.op, kind)) return;
  if (!write.op || write.op->semantics->unit != Unit::VectorStore || !write.atomic || !now.atomic) return;
  if (write.group == now.group || !(write.bytes & now.bytes) || ordered(write, now, Space::Global)) return;
  const Op* atomic = reordering_.overtaking_atomic({write.group, write.wave}, write.number, write.epoch, now.group);
  if (!atomic) return;
  note({write.op->address, atomic->address, FindingKind::AtomicReordering}, [&] {
    return Finding{"the store at " + position(*write.op) + " had not been waited for when the atomic at " + position(*atomic) +
                       " was issued, so others may see the atomic first",
                   format("with the store by wave %u of workgroup %u, read at address 0x%lx by wave %u of workgroup %u at ",
                          write.wave, write.group, address, now.wave, now.group) +
                       position(*now.op)};
  });
}

// Where the encoding does not show whether a store is atomic, the store counts as atomic if other accesses to the location are.
// An atomic read of what such a store wrote receives what the store's workgroup had released before it.
void RaceCheck::take_for_atomic(ShadowCell& cell, Access& now, AccessKind kind) {
  cell.has_atomics |= now.atomic;
  if (kind == AccessKind::Store) now.atomic = cell.has_atomics;
  if (!now.atomic || !cell.write.op) return;
  cell.write.atomic = true;
  if (cell.write.op->semantics->unit != Unit::VectorStore || cell.write.releases == 0 || !reads(*now.op, kind)) return;
  const uint64_t released = clocks_[cell.write.group].releases[cell.write.releases - 1].time;
  uint64_t& received = clocks_[now.group].received;
  received = std::max(received, released);
}

void RaceCheck::touch(ShadowCell& cell, Access now, AccessKind kind, Space space, uint64_t address) {
  if (space == Space::Global && !scopes_are_named()) take_for_atomic(cell, now, kind);
  const AccessKind write_kind = cell.write.atomic ? AccessKind::Atomic : AccessKind::Store;
  compare(cell.write, write_kind, now, kind, space, address);
  if (reordering_.any() && space == Space::Global) look_for_reordering(cell.write, now, kind, address);
  if (kind == AccessKind::Load) {
    if (space == Space::Lds && (now.bytes & ~cell.written)) note_conflict({{}, now, kind, kind, space, address});
    // Replaces the same wave's earlier read if there is one; otherwise, preferably, a read that is ordered before this one.
    Access* slot = &cell.reads[0];
    for (Access& read : cell.reads) {
      if (read.op && read.group == now.group && read.wave == now.wave) slot = &read;
    }
    if (slot->op && !(slot->group == now.group && slot->wave == now.wave)) {
      slot = cell.reads[1].op && ordered(cell.reads[0], now, space) ? &cell.reads[0] : &cell.reads[1];
    }
    *slot = now;
    return;
  }
  for (const Access& read : cell.reads) compare(read, AccessKind::Load, now, kind, space, address);
  cell.write = now;
  cell.written |= now.bytes;
}

bool RaceCheck::ordered(const Access& before, const Access& now, Space space) const {
  if (before.group == now.group) return ordered_in_group(before, now, space);
  const auto from = clocks_.find(before.group), to = clocks_.find(now.group);
  if (from == clocks_.end() || to == clocks_.end()) return false;
  const auto& releases = from->second.releases;
  if (before.releases >= releases.size()) return false;
  const auto covers = [&](const Release& release) {
    return scopes_are_named() || release.wave == before.wave || before.epoch < release.epoch;
  };
  const auto first = std::find_if(releases.begin() + before.releases, releases.end(), covers);
  return first != releases.end() && first->time <= to->second.acquired;
}

bool RaceCheck::ordered_in_group(const Access& before, const Access& now, Space space) const {
  const OutstandingAccesses& wave = group_->outstanding[before.wave];
  if (before.wave == now.wave) {
    // The time at which a vector load's data arrives in the LDS is not ordered with respect to LDS accesses.
    const bool from_memory = before.position().queue == CompletionQueue::Vector;
    const bool overtakes = space == Space::Lds && from_memory && now.position().queue == CompletionQueue::Lds;
    return !overtakes || wave.has_completed(before.position());
  }
  if (before.epoch == now.epoch) return false;
  if (space != Space::Lds || !late_) return true;
  for (uint32_t epoch = before.epoch; epoch < now.epoch; ++epoch)
    if (wave.had_completed(before.position(), epoch)) return true;
  return false;
}

void RaceCheck::compare(const Access& before, AccessKind before_kind, const Access& now, AccessKind kind, Space space,
                        uint64_t address) {
  if (!before.op || !(before.bytes & now.bytes)) return;
  if (before.atomic && now.atomic && !(unordered_atomics_ && space == Space::Global && is_load_or_store(*before.op, *now.op)))
    return;
  if (!ordered(before, now, space)) note_conflict({before, now, before_kind, kind, space, address});
}

template <class Describe>
void RaceCheck::note(const FindingKey& key, Describe describe) {
  auto entry = findings_.find(key);
  if (entry == findings_.end()) entry = findings_.emplace(key, describe()).first;
  ++entry->second.count;
}

void RaceCheck::note_conflict(const Conflict& conflict) {
  const uint64_t first = conflict.first.op ? conflict.first.op->address : 0;
  const uint64_t second = conflict.second.op->address;
  const FindingKind kind = conflict.space == Space::Lds                      ? FindingKind::LdsRace
                           : conflict.first.atomic && conflict.second.atomic ? FindingKind::UnorderedAtomics
                                                                             : FindingKind::GlobalRace;
  note({std::min(first, second), std::max(first, second), kind}, [&] { return describe(conflict); });
}

// A write-back is counted later, by release(), once the stores before it have been waited for. An invalidation is an acquire:
// it drops the lines that were stale when the latest message was read.
void RaceCheck::fence(const Wave& wave, const Op& op) {
  if (writes_back(op)) return;
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  clock.acquired = clock.received;
}

void RaceCheck::wait(const Wave& wave, unsigned vector_left, unsigned scalar_left) {
  outstanding(wave).wait(vector_left, scalar_left);
  if (vector_left == 0 && !scopes_are_named()) release_by_wait(wave);
  release(wave);
}

void RaceCheck::release(const Wave& wave) {
  const size_t written_back = outstanding(wave).take_write_backs();
  if (!written_back || !scopes_are_named()) return;
  auto& releases = clocks_[static_cast<uint32_t>(wave.group->id)].releases;
  releases.insert(releases.end(), written_back, {++fences_, wave.index_in_group, wave.group->epoch});
  for (OutstandingAccesses& other : wave.group->outstanding) other.cover_stores();
}

// Called once the wave has waited for all of its vector memory accesses, on a target where such a wait is a release.
void RaceCheck::release_by_wait(const Wave& wave) {
  outstanding(wave).wait_for_all(wave.group->epoch);
  GroupClock& clock = clocks_[static_cast<uint32_t>(wave.group->id)];
  uint64_t& released = clock.released[wave.index_in_group & 15];
  if (released == clock.accesses) return;
  released = clock.accesses;
  clock.releases.push_back({++fences_, wave.index_in_group & 15u, wave.group->epoch});
  clock.begun = clock.releases.size();
}

// "entry + 0x40 (s_nop 0)"
std::string RaceCheck::position(const Op& op) const {
  const bool before = op.address < entry_;  // the instruction is in a function that the kernel called
  return format("entry %c 0x%lx (%s)", before ? '-' : '+', before ? entry_ - op.address : op.address - entry_, op.text);
}

std::string RaceCheck::who(const Access& access) const {
  return format("by wave %u of workgroup %u at ", access.wave, access.group) + position(*access.op);
}

RaceCheck::Finding RaceCheck::describe(const Conflict& conflict) const {
  const auto& [before, now, before_kind, kind, space, address] = conflict;
  if (!before.op) return {"read of LDS that nothing has written", format("at LDS address 0x%lx ", address) + who(now)};
  const bool late = space == Space::Lds && (before.epoch != now.epoch || before.wave == now.wave);
  const bool atomics = before.atomic && now.atomic;
  return {space == Space::Lds ? "race in LDS"
          : atomics           ? "atomic accesses in no order"
                              : "race in global memory",
          format("at address 0x%lx: ", address) + name_of(before_kind) + " " + who(before) + " and " + name_of(kind) + " " +
              who(now) + " are not ordered" + (late ? ", because the first had not been waited for" : "")};
}

std::vector<std::pair<uint64_t, uint64_t>> RaceCheck::written() const {
  std::vector<uint64_t> numbers;
  for (const auto& [number, page] : pages_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  const auto add = [&](uint64_t address) {
    if (!ranges.empty() && ranges.back().second == address) ++ranges.back().second;
    else ranges.emplace_back(address, address + 1);
  };
  for (const uint64_t number : numbers) {
    const Page& page = *pages_.at(number);
    for (uint64_t word = 0; word < kPageCells; ++word)
      for (uint64_t byte = 0; byte < kCellBytes; ++byte)
        if (page[word].written >> byte & 1) add((number * kPageCells + word) * kCellBytes + byte);
  }
  return ranges;
}

std::vector<std::string> RaceCheck::end() {
  std::vector<std::string> lines;
  for (const auto& [key, finding] : findings_) {
    if (!reported_.insert(key).second) continue;
    lines.push_back(finding.description + ", " + std::to_string(finding.count) + " times, first " + finding.location);
  }
  if (full_) {
    lines.push_back("the kernel touches more global memory than the race check can watch (" +
                    std::to_string(kShadowLimit / sizeof(Page) * kPageCells * kCellBytes >> 20) +
                    " MiB): races beyond that were not looked for");
  }
  full_ = false;
  findings_.clear();
  pages_.clear();
  lds_.clear();
  invalidated_.clear();
  clocks_.clear();
  messages_.clear();
  reordering_.clear();
  late_ = false;
  fences_ = 0;
  return lines;
}

}  // namespace rpd
