#include "isa/program.h"

#include <algorithm>
#include <atomic>

#include "isa/decoder.h"
#include "isa/semantics.h"
#include "isa/straight_run.h"

namespace rpd {
namespace {

uint64_t next_revision() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void note_registers(Op& op) {
  const auto note = [&](const Operand& operand) {
    const auto end = static_cast<uint16_t>(operand.reg + operand.dwords);
    if (operand.kind == Operand::Kind::Vector) op.vector_registers = std::max(op.vector_registers, end);
    if (operand.kind == Operand::Kind::Accumulator) op.accumulators = std::max(op.accumulators, end);
  };
  note(op.destination);
  for (const Operand& source : op.source) note(source);
}

bool falls_through(const Op& op) { return op.semantics && !op.semantics->leaves; }

bool lets_others_run(const Op& op) {
  if (op.semantics->global_sync) return true;
  switch (op.semantics->unit) {
    case Unit::Smem: return op.sc1;
    case Unit::VectorLoad:
    case Unit::VectorStore:
    case Unit::VectorAtomic:
    case Unit::Barrier:
    case Unit::End: return true;
    default: return false;
  }
}

}  // namespace

Program::Program(const AddressSpace& memory)
    : memory_(memory), disassembler_(target_of_device().isa_name), revision_(next_revision()) {}

const Op* Program::at(uint64_t address) {
  address &= ~uint64_t{3};  // as the program counter does
  const std::lock_guard lock(mutex_);
  if (const auto entry = by_address_.find(address); entry != by_address_.end()) return entry->second;
  decode_from(address);
  return by_address_.at(address);
}

const Op* Program::jump(uint64_t from, uint64_t address) {
  address &= ~uint64_t{3};
  const std::lock_guard lock(mutex_);
  if (const auto entry = by_address_.find(address); entry != by_address_.end()) return entry->second;
  const bool allowed =
      memory_.window(from, false).begin == memory_.window(address, false).begin || loaded_segment(memory_, address);
  decode_from(address, allowed);
  return by_address_.at(address);
}

// Whether a code object says that there is no code at this address.
bool Program::is_data(uint64_t address) {
  if (!segment_ || !segment_->holds(address)) segment_ = loaded_segment(memory_, address);
  return segment_ && !segment_->executable;
}

void Program::decode_from(uint64_t address, bool allowed) {
  std::vector<uint64_t> todo{address};
  const size_t first_new = ops_.size();
  segment_.reset();  // a different code object may have been loaded since
  while (!todo.empty()) {
    const uint64_t next = todo.back();
    todo.pop_back();
    find_or_decode(next, todo, allowed || next != address);
  }
  // Link in a second pass, once every address that an Op refers to has been decoded.
  for (size_t i = first_new; i < ops_.size(); ++i) {
    Op& op = ops_[i];
    if (!op.semantics) continue;
    if (falls_through(op)) op.next = by_address_.at(op.address + op.size);
    if (op.target == nullptr && op.semantics->unit == Unit::Branch && op.semantics->needs_immediate) {
      op.target = by_address_.at(op.address + 4 + static_cast<int64_t>(static_cast<int16_t>(op.immediate)) * 4);
    }
  }
  for (size_t i = ops_.size(); i > first_new; --i) ops_[i - 1].run = straight_run_from(ops_[i - 1]);
}

Op* Program::find_or_decode(uint64_t address, std::vector<uint64_t>& todo, bool allowed) {
  if (const auto entry = by_address_.find(address); entry != by_address_.end()) return entry->second;
  const AccessWindow mapped = memory_.window(address, false);
  const uint64_t available = mapped.holds(address, sizeof(uint32_t)) ? mapped.begin + mapped.size - address : 0;
  const auto* code = memory_.at<uint32_t>(address);
  DisassembledInstruction instruction{};
  if (available) instruction = disassembler_.at(code, std::min(available, target::kMaxInstructionBytes));
  DecodedInstruction decoded;
  if (!available) {
    decoded.op.address = address;
    decoded.problem = "no code is here";
    instruction.text = "(nothing)";
  } else if (instruction.size == 0) {
    decoded.op.address = address;
    decoded.problem = "these bytes are not an instruction of this target";
    instruction.text = "(unknown)";
  } else {
    decoded = decode(instruction, code, address);
    if (!allowed || is_data(address)) decoded.problem = "it is data, not code";
  }
  if (!decoded.problem.empty()) {
    decoded.op.semantics = nullptr;
    decoded.op.execute = available ? refuse_instruction : refuse_fetch;
    instruction.text += ": " + decoded.problem;
  }
  const auto first = instruction.text.find_first_not_of(" \t");
  texts_.push_back(first == std::string::npos ? instruction.text : instruction.text.substr(first));
  if (decoded.permutation) permutations_.push_back(std::move(decoded.permutation));

  Op& op = ops_.emplace_back(decoded.op);
  op.text = texts_.back().c_str();
  op.index = static_cast<uint32_t>(ops_.size() - 1);
  op.ends_slice = !op.semantics || lets_others_run(op);
  note_registers(op);
  by_address_.emplace(address, &op);
  if (falls_through(op)) todo.push_back(address + op.size);
  if (decoded.target && op.semantics) todo.push_back(decoded.target);
  return &op;
}

void Program::forget(uint64_t begin, uint64_t size) {
  const std::lock_guard lock(mutex_);
  for (const Op& op : ops_) {
    if (op.address - begin >= size) continue;
    by_address_.clear();
    ops_.clear();
    texts_.clear();
    permutations_.clear();
    revision_ = next_revision();
    return;
  }
}

}  // namespace rpd
