#include "isa/decoder.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "isa/instruction_text.h"
#include "isa/older_names.h"
#include "isa/operand_text.h"
#include "isa/semantics.h"
#include "isa/unmodified_operands.h"

namespace rpd {
namespace {

constexpr std::string_view kKnownModifiers[] = {
    "offset",     "offset0",         "offset1",   "sc0",          "sc1",
    "nt",         "clamp",           "mul",       "div",          "op_sel",
    "op_sel_hi",  "neg_lo",          "neg_hi",    "dst_sel",      "dst_unused",
    "src0_sel",   "src1_sel",        "quad_perm", "row_shl",      "row_shr",
    "row_ror",    "wave_shl",        "wave_shr",  "wave_rol",     "wave_ror",
    "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast", "row_mask",
    "bank_mask",  "bound_ctrl",      "row_share", "row_xmask",    "dpp8",
    "fi",
};
// The names that gfx90a and gfx10 use for the cache policy of vector memory.
constexpr std::string_view kOlderPolicies[] = {"glc", "slc", "scc", "dlc"};
constexpr std::string_view kBufferModifiers[] = {"idxen", "offen", "lds", "format"};
constexpr std::string_view kScalarMemoryModifiers[] = {"glc", "dlc"};
constexpr std::string_view kMatrixModifiers[] = {"cbsz", "abid", "blgp", "neg"};

// ---- DPP ----

int source_lane(const InstructionText& text, int lane) {
  const int row = lane & ~15;
  const int in_row = lane & 15;
  if (const auto quad = text.numbers("quad_perm"); quad.size() == 4) return (lane & ~3) | quad[lane & 3];
  if (const auto n = text.number("row_shl")) return in_row + *n > 15 ? -1 : lane + static_cast<int>(*n);
  if (const auto n = text.number("row_shr")) return in_row < *n ? -1 : lane - static_cast<int>(*n);
  if (const auto n = text.number("row_ror")) return row | ((in_row - static_cast<int>(*n)) & 15);
  if (text.has("wave_shl")) return lane == 63 ? -1 : lane + 1;
  if (text.has("wave_shr")) return lane - 1;
  if (text.has("wave_rol")) return (lane + 1) & 63;
  if (text.has("wave_ror")) return (lane - 1) & 63;
  if (text.has("row_mirror")) return row | (15 - in_row);
  if (text.has("row_half_mirror")) return (lane & ~7) | (7 - (lane & 7));
  if (const auto n = text.number("row_newbcast")) return row | static_cast<int>(*n);
  if (const auto n = text.number("row_share")) return row | static_cast<int>(*n);
  if (const auto n = text.number("row_xmask")) return lane ^ static_cast<int>(*n);
  if (const auto of_eight = text.numbers("dpp8"); of_eight.size() == 8) return (lane & ~7) | of_eight[lane & 7];
  // Broadcasts have no bounds: lanes that receive no broadcast read themselves.
  if (const auto n = text.number("row_bcast")) {
    if (*n == 15) return row == 0 ? lane : row - 1;  // the last lane of the previous row
    return lane < 32 ? lane : 31;
  }
  return lane;
}

std::unique_ptr<LanePermutation> permutation_of(const InstructionText& text) {
  auto out = std::make_unique<LanePermutation>();
  const long rows = text.number("row_mask").value_or(0xf);
  const long banks = text.number("bank_mask").value_or(0xf);
  out->row_and_bank_mask = 0;
  for (int l = 0; l < kLanes; ++l) {
    const int source = source_lane(text, l);
    out->source[l] = std::max(source, 0);
    out->in_bounds |= static_cast<uint64_t>(source >= 0) << l;
    const bool written = (rows >> (l / 16) & 1) && (banks >> (l % 16 / 4) & 1);
    out->row_and_bank_mask |= static_cast<uint64_t>(written) << l;
  }
  // bound_ctrl is printed only if set: as :0 by old versions of LLVM, as :1 by newer ones. DPP8 always behaves as if it were
  // set (RDNA 2 ISA).
  out->zero_out_of_bounds = text.has("bound_ctrl") || text.has("dpp8");
  out->fetches_inactive = text.has("fi");
  return out;
}

// ---- SDWA ----

Select select_of(const InstructionText& text, std::string_view modifier) {
  constexpr std::array<std::string_view, 7> names = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
  const auto entry = text.modifiers.find(modifier);
  if (entry == text.modifiers.end()) return Select::Dword;
  const auto name = std::find(names.begin(), names.end(), entry->second);
  return name == names.end() ? Select::Dword : static_cast<Select>(name - names.begin());
}

DestinationUnused unused_of(const InstructionText& text) {
  const auto entry = text.modifiers.find("dst_unused");
  if (entry == text.modifiers.end() || entry->second == "UNUSED_PAD") return DestinationUnused::Pad;
  return entry->second == "UNUSED_SEXT" ? DestinationUnused::SignExtend : DestinationUnused::Preserve;
}

// ---- the parts of an Op ----

class OpBuilder {
 public:
  OpBuilder(const InstructionText& text, const Semantics& semantics, const uint32_t* raw, DecodedInstruction& out)
      : text_(text), semantics_(semantics), raw_(raw), out_(out), op_(out.op) {}

  void build() {
    op_.semantics = &semantics_;
    op_.execute = semantics_.execute;
    op_.keeps_half = semantics_.keeps_upper_half || rules_.keeps_halves;
    check_modifiers();
    if (semantics_.needs_immediate) immediate();
    else operands();
    scalar_memory();
    offsets();
    output();
    truth_table();
    halves();
    matrix_modifiers();
    sub_dword_and_dpp();
    if (has_plain_form(op_)) op_.execute = semantics_.plain;
    if (const char* why = semantics_.refusal ? semantics_.refusal(op_) : nullptr) fail(why);
  }

 private:
  void fail(const std::string& why) {
    if (out_.problem.empty()) out_.problem = why;
  }

  void check_modifiers() {
    if (semantics_.needs_immediate) return;  // "vmcnt(0) lgkmcnt(0)" and the like are read from the bits
    const auto is_in = [](const auto& names, std::string_view name) {
      return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    for (const auto& [name, value] : text_.modifiers) {
      const bool known = is_in(kKnownModifiers, name) || (semantics_.space == Space::Buffer && is_in(kBufferModifiers, name)) ||
                         (semantics_.unit == Unit::Matrix && is_in(kMatrixModifiers, name)) ||
                         (semantics_.unit == Unit::Smem && is_in(kScalarMemoryModifiers, name)) ||
                         (semantics_.global_sync && name == "gds") || (semantics_.needs_truth_table && name == "bitop3") ||
                         (semantics_.bytes > 0 && semantics_.unit != Unit::Smem && is_in(kOlderPolicies, name));
      if (!known) fail("modifier " + name + " is not modelled");
    }
  }

  Operand resolve(const OperandText& text, Type type) {
    const auto operand = resolve_operand(text, type);
    if (!operand) fail("operand " + text.text + " is not modelled");
    return operand.value_or(Operand{});
  }

  // SOPP and SOPK: simm16 is taken from the raw bits; the text names at most one register.
  void immediate() {
    op_.immediate = raw_[0] & 0xffff;
    if (semantics_.unit == Unit::Wait) wait_counts();
    if (semantics_.unit == Unit::Branch) {
      out_.target = op_.address + 4 + static_cast<int64_t>(static_cast<int16_t>(op_.immediate)) * 4;
    }
    if (semantics_.unit != Unit::Salu && semantics_.destinations == 0) return;
    for (const auto& operand : text_.operands) {
      if (operand.text.starts_with("hwreg(") || operand.text.starts_with("gpr_idx(")) continue;
      (semantics_.destinations ? op_.destination : op_.source[0]) = resolve(operand, Type::B32);
      break;
    }
  }

  // vmcnt in simm16[3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8], or [13:8] on gfx10. s_waitcnt_vscnt waits for stores only.
  void wait_counts() {
    if (semantics_.waits_for_stores) {
      op_.wait = {WaitCounts::kNoVectorWait, rules_.max_scalar_wait, static_cast<uint8_t>(op_.immediate & 0x3f)};
      if (text_.operands.empty() || text_.operands[0].text != "null") fail("a wait count in a register is not modelled");
      return;
    }
    op_.wait.vector = static_cast<uint8_t>((op_.immediate & 0xf) | (op_.immediate >> 14 & 3) << 4);
    op_.wait.scalar = static_cast<uint8_t>(op_.immediate >> 8 & rules_.max_scalar_wait);
  }

  // "buffer_inv sc0 sc1": flags appear where other instructions have operands. The flags select the caches.
  void cache_flags() {
    op_.sc0 = text_.has("sc0");  // the first flag is parsed as an operand, the others as modifiers
    op_.sc1 = text_.has("sc1");
    for (const auto& operand : text_.operands) {
      if (operand.text == "sc0") op_.sc0 = true;
      else if (operand.text == "sc1") op_.sc1 = true;
      else if (operand.text != "nt") fail("operand " + operand.text + " is not modelled");
    }
  }

  // "[vdata,] vaddr, srsrc, soffset": the address becomes sources 0 to 2; the data becomes source 3 or the destination.
  void buffer_operands() {
    op_.indexed = text_.has("idxen");
    op_.offset_in_register = text_.has("offen");
    op_.to_lds = text_.has("lds");
    if (semantics_.converts_format && rules_.has_wave32) return fail("formats of buffer elements are not modelled here");
    if (semantics_.needs_format) op_.immediate = raw_[0];
    if (op_.to_lds && semantics_.unit != Unit::VectorLoad) return fail("modifier lds is not modelled here");
    const size_t data = op_.to_lds ? 0 : 1;
    if (text_.operands.size() != data + 3) return fail("it has an unexpected number of operands");
    for (size_t i = 0; i < 3; ++i) op_.source[i] = resolve(text_.operands[data + i], Type::B32);
    if (op_.to_lds) return;
    const Operand operand = resolve(text_.operands[0], Type::B32);
    if (semantics_.unit != Unit::VectorLoad) op_.source[3] = operand;
    if (semantics_.unit == Unit::VectorLoad || op_.returns) op_.destination = operand;
  }

  // GLC: an atomic returns the old value; a load bypasses the L1, which gives it agent or system scope. SLC: the lines are not
  // expected to be used again (LLVM AMDGPUUsage, "Memory Model gfx90a").
  void cache_policy() {
    const bool atomic = semantics_.unit == Unit::VectorAtomic, glc = text_.has("glc");
    op_.sc0 = text_.has("sc0") || (atomic && glc);
    op_.sc1 = text_.has("sc1") || text_.has("scc") || (!atomic && glc);
    op_.nt = text_.has("nt") || text_.has("slc");
    op_.returns = atomic && op_.sc0;
  }

  // The type of a source, which determines the bits of a constant such as 1.0.
  Type source_type(size_t i) const {
    const bool is_half =
        semantics_.mixes_precisions && (bits_of(text_.numbers("op_sel_hi"), semantics_.default_packed_high) >> i & 1);
    return is_half ? Type::F16 : semantics_.source_types[i];
  }

  void operands() {
    if (semantics_.unit == Unit::CacheControl) return cache_flags();
    cache_policy();
    if (semantics_.space == Space::Buffer) return buffer_operands();
    if (semantics_.writes_exec && rules_.compares_exec_alone) return exec_comparison();
    const size_t destinations = semantics_.destinations + (op_.returns ? 1 : 0);
    if (text_.operands.size() < destinations) return fail("operands are missing");
    if (destinations > 0) op_.destination = resolve(text_.operands[0], Type::B32);
    if (destinations > 1) op_.scalar_destination = resolve(text_.operands[1], Type::B32);
    size_t count = text_.operands.size() - destinations;
    if (count + semantics_.accumulates > kMaxSources) return fail("it has more operands than expected");
    for (size_t i = 0; i < count; ++i) op_.source[i] = resolve(text_.operands[destinations + i], source_type(i));
    if (semantics_.accumulates) op_.source[count++] = op_.destination;
    const size_t expected = std::count_if(semantics_.source_types.begin(), semantics_.source_types.end(),
                                          [](Type type) { return type != Type::None; });
    if (semantics_.space == Space::None && count != expected) fail("it has an unexpected number of operands");
  }

  // "v_cmpx_lt_f32_e64 v0, v1": EXEC takes the place of the destination that the instruction has on gfx9.
  void exec_comparison() {
    op_.destination.kind = Operand::Kind::Scalar;
    op_.destination.reg = kExec;
    op_.destination.dwords = 2;
    if (text_.operands.size() != 2) return fail("it has an unexpected number of operands");
    for (size_t i = 0; i < 2; ++i) op_.source[i] = resolve(text_.operands[i], semantics_.source_types[i]);
  }

  // glc: bypasses the scalar cache; for an atomic, returns the old value.
  void scalar_memory() {
    if (semantics_.unit != Unit::Smem || !text_.has("glc")) return;
    op_.sc1 = true;
    op_.returns = semantics_.update != Update::None;
    if (op_.returns) op_.destination = op_.source[0];
  }

  void offsets() {
    op_.offset = static_cast<int32_t>(text_.number("offset").value_or(text_.number("offset0").value_or(0)));
    op_.offset1 = static_cast<int32_t>(text_.number("offset1").value_or(0));
    if (semantics_.offset_in_bits) op_.offset = raw_[0] & 0xffff;
  }

  bool gives_float() const {
    const Type type = semantics_.destination_type;
    return type == Type::F16 || type == Type::F32 || type == Type::F64 || type == Type::PackedF16;
  }

  OutputModifier output_modifier() const {
    if (const auto factor = text_.number("mul")) return *factor == 2 ? OutputModifier::Twice : OutputModifier::FourTimes;
    return text_.has("div") ? OutputModifier::Half : OutputModifier::None;
  }

  void output() {
    op_.output_modifier = output_modifier();
    op_.clamp = text_.has("clamp");
    if (op_.clamp && !gives_float() && !semantics_.saturates) fail("clamp of an integer result is not modelled");
  }

  void truth_table() {
    if (semantics_.needs_truth_table) op_.immediate = static_cast<uint32_t>(text_.number("bitop3").value_or(0));
  }

  static uint8_t bits_of(const std::vector<int>& flags, uint8_t otherwise) {
    if (flags.empty()) return otherwise;
    uint8_t bits = 0;
    for (size_t i = 0; i < flags.size(); ++i) bits |= static_cast<uint8_t>((flags[i] & 1) << i);
    return bits;
  }

  void halves() {
    const auto select = text_.numbers("op_sel");
    if (semantics_.packed) {
      op_.packed_low = bits_of(select, 0);
      op_.packed_high = bits_of(text_.numbers("op_sel_hi"), semantics_.default_packed_high);
      op_.negate_low = bits_of(text_.numbers("neg_lo"), 0);
      op_.negate_high = bits_of(text_.numbers("neg_hi"), 0);
      return;
    }
    if (text_.has("op_sel_hi") || text_.has("neg_lo") || text_.has("neg_hi"))
      return fail("packed modifiers are not modelled here");
    if (semantics_.writes_byte) return byte_of_destination(select);
    // op_sel:[s0,s1,...,d] on a 16-bit instruction.
    for (size_t i = 0; i < select.size(); ++i) {
      if (!select[i]) continue;
      if (i + 1 == select.size()) {
        if (!is_half(semantics_.destination_type)) fail("op_sel of a 32-bit result is not modelled");
        op_.destination_high = true;
      } else {
        if (!is_half(semantics_.source_types[i])) fail("op_sel of a 32-bit operand is not modelled");
        op_.source[i].high_half = true;
      }
    }
  }
  // op_sel[3:2] selects the byte; the other bytes keep their values.
  void byte_of_destination(const std::vector<int>& select) {
    const int byte = select.size() == 4 ? select[2] + 2 * select[3] : 0;
    op_.destination_select = static_cast<Select>(static_cast<int>(Select::Byte0) + byte);
    op_.destination_unused = DestinationUnused::Preserve;
  }
  static bool is_half(Type type) { return type == Type::B16 || type == Type::F16; }

  // The effect of modifiers on an instruction that does not accept them is not documented.
  void matrix_modifiers() {
    if (semantics_.unit != Unit::Matrix) return;
    const MatrixModifiers takes = semantics_.matrix_modifiers;
    const bool broadcasts = takes == MatrixModifiers::BroadcastAndPattern || takes == MatrixModifiers::Indices;
    const bool permutes = takes == MatrixModifiers::BroadcastAndPattern || takes == MatrixModifiers::Pattern;
    const bool formats = takes == MatrixModifiers::Formats;
    op_.matrix = {small_number("cbsz", broadcasts || formats), small_number("abid", broadcasts),
                  small_number("blgp", permutes || formats)};
    const int broadcast = 1 << op_.matrix.broadcast_size;
    if (takes == MatrixModifiers::BroadcastAndPattern &&
        (broadcast > semantics_.shape.blocks || op_.matrix.broadcast_block >= broadcast)) {
      fail("a broadcast of more blocks than there are is not modelled");
    }
    const auto negated = text_.numbers("neg");
    if (!negated.empty() && takes != MatrixModifiers::Negation) fail("modifier neg is not modelled here");
    for (size_t i = 0; i < negated.size() && i < kMaxSources; ++i) op_.source[i].negate = negated[i];
  }
  uint8_t small_number(std::string_view modifier, bool supported) {
    const long value = text_.number(modifier).value_or(0);
    if (value && !supported) fail("modifier " + std::string(modifier) + " is not modelled here");
    return static_cast<uint8_t>(value);
  }

  void sub_dword_and_dpp() {
    if (text_.encoding == "sdwa") {
      op_.source[0].select = select_of(text_, "src0_sel");
      op_.source[1].select = select_of(text_, "src1_sel");
      op_.destination_select = select_of(text_, "dst_sel");
      op_.destination_unused = unused_of(text_);
    }
    // Outside DPP, the v_permlane*_swap instructions accept these modifiers.
    if (text_.encoding != "dpp" && (text_.has("bound_ctrl") || text_.has("fi")))
      fail("reading disabled lanes is not modelled here");
    if (text_.encoding == "dpp") {
      out_.permutation = permutation_of(text_);
      op_.permutation = out_.permutation.get();
      op_.source[0].dpp = true;
    }
  }

  const InstructionText& text_;
  const Semantics& semantics_;
  const IsaRules& rules_ = target_of_device().rules;
  const uint32_t* raw_;
  DecodedInstruction& out_;
  Op& op_;
};

}  // namespace

DecodedInstruction decode(const DisassembledInstruction& instruction, const uint32_t* raw, uint64_t address) {
  DecodedInstruction out;
  out.op.address = address;
  out.op.size = static_cast<uint16_t>(instruction.size);
  const InstructionText text = parse_instruction(instruction.text);
  const Semantics* semantics = find_semantics(older_name(text.mnemonic));
  if (!semantics) {
    out.problem = "the device does not know this instruction";
    return out;
  }
  OpBuilder(text, *semantics, raw, out).build();
  return out;
}

}  // namespace rpd
