#include "exec/outstanding_accesses.h"

#include <algorithm>

#include "isa/semantics.h"
#include "isa/target.h"

namespace rpd {
namespace {

// The largest value of each counter. In a wait instruction, this value means that there is no wait.
constexpr std::array<unsigned, kCompletionQueues> kMaxWaitCounts = {WaitCounts::kNoVectorWait, WaitCounts::kNoScalarWait,
                                                                    UINT32_MAX};

// A range of registers.
struct Range {
  Operand::Kind kind;
  unsigned first, end;
};
Range range_of(const Operand& operand) { return {operand.kind, operand.reg, unsigned{operand.reg} + operand.dwords}; }
bool is_register(const Operand& operand) {
  using Kind = Operand::Kind;
  return operand.kind == Kind::Vector || operand.kind == Kind::Accumulator || operand.kind == Kind::Scalar;
}
bool overlap(const Range& a, const Range& b) { return a.kind == b.kind && a.first < b.end && b.first < a.end; }

// The VCC operand of instructions that use VCC although their text does not name it.
constexpr Operand vcc() {
  Operand operand;
  operand.kind = Operand::Kind::Scalar;
  operand.reg = kVcc;
  operand.dwords = 2;
  return operand;
}

// The queue in which `op` completes, if any. For a flat access, it also depends on the addresses: see reach_lds().
std::optional<CompletionQueue> queue_of(const Op& op) {
  switch (op.semantics->unit) {
    case Unit::VectorLoad:
    case Unit::VectorStore:
    case Unit::VectorAtomic: return CompletionQueue::Vector;
    case Unit::Lds: return CompletionQueue::Lds;
    case Unit::Smem: return CompletionQueue::Unordered;
    default: return std::nullopt;
  }
}

// The first register of `range` that `op` uses too early, while a load into the range is in flight; nullopt if there is none.
// `may_overwrite`: `op`'s destination may be in the range, since the load completes first.
std::optional<unsigned> touched(const Op& op, const Range& range, bool may_overwrite) {
  const auto check = [&](const Operand& operand) {
    const bool hit = is_register(operand) && overlap(range_of(operand), range);
    return hit ? std::optional(std::max<unsigned>(operand.reg, range.first)) : std::nullopt;
  };
  for (const Operand& source : op.source)
    if (const auto reg = check(source)) return reg;
  if (op.semantics->reads_vcc)
    if (const auto reg = check(vcc())) return reg;
  if (const auto reg = check(op.scalar_destination)) return reg;
  return may_overwrite ? std::nullopt : check(op.destination);
}

}  // namespace

bool writes_back(const Op& op) { return op.semantics->cache_control == CacheControl::WriteBack; }

uint32_t OutstandingAccesses::begin(CompletionQueue queue) {
  const size_t i = index(queue);
  const uint32_t number = ++issued_[i];
  if (number > kMaxWaitCounts[i]) completed_[i] = std::max(completed_[i], number - kMaxWaitCounts[i]);
  return number;
}

void OutstandingAccesses::load(const Op& op, CompletionQueue queue, bool has_lanes) {
  const uint32_t number = begin(queue);
  if (loads_.size() > kMaxWaitCounts[index(CompletionQueue::Vector)]) forget_completed();
  if (op.destination.kind != Operand::Kind::None && has_lanes) loads_.push_back({&op, {queue, number}});
}

void OutstandingAccesses::issue(const Op& op, bool has_lanes) {
  if (const auto queue = queue_of(op)) {
    load(op, *queue, has_lanes || *queue == CompletionQueue::Unordered);
    const bool wide = op.sc1 || !target_of_device().names_scopes;
    if (op.semantics->unit == Unit::VectorStore && wide) wide_store_ = issued(CompletionQueue::Vector);
  } else if (writes_back(op)) {
    write_backs_.push_back({&op, {CompletionQueue::Vector, begin(CompletionQueue::Vector) - 1}});
  }
}

QueuePosition OutstandingAccesses::reach_lds(const Op& op, bool alone) {
  CompletionQueue queue = queue_of(op).value_or(CompletionQueue::Lds);
  if (op.semantics->space == Space::Flat) {
    queue = CompletionQueue::Unordered;
    const QueuePosition position{queue, begin(queue)};
    if (!loads_.empty() && loads_.back().op == &op) {
      if (alone) loads_.back().position = position;
      else loads_.push_back({&op, position});
    }
  }
  const QueuePosition position{queue, issued(queue)};
  lds_[index(queue)] = position.number;
  return position;
}

void OutstandingAccesses::complete(CompletionQueue queue, unsigned remaining) {
  const size_t i = index(queue);
  if (issued_[i] > remaining) completed_[i] = std::max(completed_[i], issued_[i] - remaining);
}

void OutstandingAccesses::forget_completed() {
  std::erase_if(loads_, [this](const IssuedAccess& load) { return has_completed(load.position); });
}

void OutstandingAccesses::wait(unsigned vector_left, unsigned scalar_left) {
  if (vector_left < kMaxWaitCounts[index(CompletionQueue::Vector)]) complete(CompletionQueue::Vector, vector_left);
  if (scalar_left < kMaxWaitCounts[index(CompletionQueue::Lds)]) complete(CompletionQueue::Lds, scalar_left);
  if (scalar_left == 0) complete(CompletionQueue::Unordered, 0);
  forget_completed();
}

size_t OutstandingAccesses::take_write_backs() {
  return std::erase_if(write_backs_, [this](const IssuedAccess& write_back) { return has_completed(write_back.position); });
}

bool OutstandingAccesses::arrive(uint32_t epoch) {
  bool late = false;
  for (size_t i = 0; i < kCompletionQueues; ++i) late |= lds_[i] > completed_[i];
  if (late) late_.push_back({epoch, completed_});
  return late;
}

bool OutstandingAccesses::had_completed(const QueuePosition& position, uint32_t epoch) const {
  const auto is_before = [](const EpochWithLateAccesses& late, uint32_t e) { return late.epoch < e; };
  const auto entry = std::lower_bound(late_.begin(), late_.end(), epoch, is_before);
  return entry == late_.end() || entry->epoch != epoch || position.number <= entry->completed[index(position.queue)];
}

// A load that overwrites the destination of an earlier load is not a use if the two complete in order.
std::optional<OutstandingAccesses::EarlyUse> OutstandingAccesses::take_early_use(const Op& op) {
  const auto queue = queue_of(op);
  for (size_t i = 0; i < loads_.size(); ++i) {
    const IssuedAccess load = loads_[i];
    const bool in_order = queue == load.position.queue && queue != CompletionQueue::Unordered;
    const auto reg = touched(op, range_of(load.op->destination), in_order);
    if (!reg || has_completed(load.position)) continue;
    loads_.erase(loads_.begin() + static_cast<ptrdiff_t>(i));
    return EarlyUse{load.op, load.op->destination.kind, static_cast<uint16_t>(*reg)};
  }
  return std::nullopt;
}

}  // namespace rpd
