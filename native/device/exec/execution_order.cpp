#include "exec/execution_order.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "isa/semantics.h"
#include "isa/target.h"

namespace rpd {
namespace {

constexpr uint16_t kReturnAddress = 30;  // s[30:31], by the calling convention (LLVM AMDGPUUsage, "Non-Kernel Functions")

bool is_constant(const Operand& operand) { return operand.kind == Operand::Kind::Constant; }
bool is_scalar(const Operand& operand) { return operand.kind == Operand::Kind::Scalar; }

const char* order_dependence_of_atomic(const Op& op, std::set<Update>& updates) {
  const Update kind = op.semantics->update;
  if (op.returns) return "atomics that return the old value";
  if (kind == Update::Float) return "floating-point atomics";
  if (kind == Update::Exchange) return "atomic exchanges";
  if (kind == Update::Increment || kind == Update::Decrement) return "atomics that wrap at a limit, which may differ";
  updates.insert(kind);
  return updates.size() > 1 ? "atomics of several kinds, which do not commute" : nullptr;
}

// Why this instruction makes the order of execution matter; null if it does not. `updates` collects the kinds of atomics seen.
const char* order_dependence(const Op& op, std::set<Update>& updates) {
  switch (op.semantics->unit) {
    case Unit::VectorAtomic: return order_dependence_of_atomic(op, updates);
    case Unit::Smem:
      if (op.semantics->update != Update::None) return order_dependence_of_atomic(op, updates);
      return op.sc1 ? "scalar loads that bypass the cache" : nullptr;
    case Unit::VectorLoad: return op.sc1 ? "loads at agent or system scope" : nullptr;
    case Unit::CacheControl:
      if (op.semantics->cache_control != CacheControl::Invalidate) return nullptr;
      return op.sc1 || !target_of_device().names_scopes ? "acquires at agent or system scope" : nullptr;
    default: return nullptr;
  }
}

// Tracks constants in scalar registers along straight-line code, which is enough to find the target of a call.
class Constants {
 public:
  explicit Constants(const AddressSpace& memory) : memory_(memory) {}

  void forget() { value_ = {}; }

  std::optional<uint64_t> pair(const Operand& operand) const {
    if (!is_scalar(operand) || operand.reg + 2 > kScalarWords || !value_[operand.reg] || !value_[operand.reg + 1]) return {};
    return *value_[operand.reg] | static_cast<uint64_t>(*value_[operand.reg + 1]) << 32;
  }

  void execute(const Op& op) {
    static const Semantics *const get_pc = find_semantics("s_getpc_b64"), *const add_32 = find_semantics("s_add_u32"),
                                  *const add_with_carry = find_semantics("s_addc_u32"),
                                  *const move_32 = find_semantics("s_mov_b32"), *const move_64 = find_semantics("s_mov_b64"),
                                  *const load_64 = find_semantics("s_load_dwordx2");
    const Semantics* semantics = op.semantics;
    if (semantics == get_pc) return set_pair(op.destination.reg, op.address + op.size);
    if (semantics == add_32) return add(op, false);
    if (semantics == add_with_carry && carry_) return add(op, *carry_);
    if (semantics == move_32) return set(op.destination.reg, word(op.source[0]));
    if (semantics == move_64) return move_pair(op);
    if (semantics == load_64) return load_pair(op);
    if (op.semantics->unit == Unit::Branch) return forget();  // a call may change all registers
    overwrite(op.destination);
    overwrite(op.scalar_destination);
  }

 private:
  std::optional<uint32_t> word(const Operand& operand) const {
    if (is_constant(operand)) return static_cast<uint32_t>(operand.constant);
    return is_scalar(operand) ? value_[operand.reg] : std::nullopt;
  }
  void set(uint16_t reg, std::optional<uint32_t> value) { value_[reg] = value; }
  void set_pair(uint16_t reg, std::optional<uint64_t> value) {
    set(reg, value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt);
    set(static_cast<uint16_t>(reg + 1), value ? std::optional(static_cast<uint32_t>(*value >> 32)) : std::nullopt);
  }
  void add(const Op& op, bool carry) {
    const auto a = word(op.source[0]), b = word(op.source[1]);
    const uint64_t sum = uint64_t{a.value_or(0)} + b.value_or(0) + carry;
    const bool known = a && b;
    carry_ = known ? std::optional(sum >> 32 != 0) : std::nullopt;
    set(op.destination.reg, known ? std::optional(static_cast<uint32_t>(sum)) : std::nullopt);
  }
  void move_pair(const Op& op) {
    if (is_constant(op.source[0])) return set_pair(op.destination.reg, op.source[0].constant);
    set_pair(op.destination.reg, pair(op.source[0]));
  }
  // A function's address comes from the code object's global offset table, which does not change.
  void load_pair(const Op& op) {
    const auto base = pair(op.source[0]);
    if (!base || !is_constant(op.source[1])) return set_pair(op.destination.reg, std::nullopt);
    const uint64_t address = *base + static_cast<int64_t>(static_cast<int32_t>(op.source[1].constant)) + op.offset;
    const bool readable = address % 4 == 0 && memory_.allows(address, sizeof(uint64_t), false);
    set_pair(op.destination.reg, readable ? std::optional(*memory_.at<uint64_t>(address)) : std::nullopt);
  }
  void overwrite(const Operand& operand) {
    if (!is_scalar(operand)) return;
    for (int i = 0; i < operand.dwords && operand.reg + i < kScalarWords; ++i) value_[operand.reg + i].reset();
  }

  const AddressSpace& memory_;
  std::array<std::optional<uint32_t>, kScalarWords> value_{};
  std::optional<bool> carry_;
};

// The instructions of one function: those reachable without a call, ordered by address.
std::map<uint64_t, const Op*> body_of(const Op* entry, std::set<const Op*>& joins) {
  std::map<uint64_t, const Op*> body;
  std::vector<const Op*> todo{entry};
  while (!todo.empty()) {
    const Op* op = todo.back();
    todo.pop_back();
    while (op && body.emplace(op->address, op).second) {
      if (op->target) {
        joins.insert(op->target);
        todo.push_back(op->target);
      }
      op = op->next;
    }
  }
  return body;
}

bool jumps_to_register(const Op& op) { return op.semantics->unit == Unit::Branch && !op.semantics->needs_immediate; }
bool returns_to_caller(const Op& op) { return op.semantics->leaves && op.source[0].reg == kReturnAddress; }

}  // namespace

const char* ExecutionOrder::why_order_matters(uint64_t entry) {
  if (const auto cached = reasons_.find(entry); cached != reasons_.end()) return cached->second;
  std::set<uint64_t> functions{entry};
  std::vector<uint64_t> todo{entry};
  std::set<Update> updates;
  const char* why = nullptr;
  while (!todo.empty() && !why) {
    const Op* begin = program_.at(todo.back());
    todo.pop_back();
    std::set<const Op*> joins;
    Constants constants(memory_);
    const Op* before = nullptr;
    for (const auto& [address, op] : body_of(begin, joins)) {
      if (!op->semantics) continue;
      if (!before || before->next != op || joins.contains(op)) constants.forget();
      before = op;
      if ((why = order_dependence(*op, updates))) break;
      if (jumps_to_register(*op) && !returns_to_caller(*op)) {
        const auto target = constants.pair(op->source[0]);
        if (!target) {
          why = "a jump to a computed address, which may lead to any code";
          break;
        }
        if (functions.insert(*target).second) todo.push_back(*target);
      }
      constants.execute(*op);
    }
  }
  return reasons_[entry] = why;
}

}  // namespace rpd
