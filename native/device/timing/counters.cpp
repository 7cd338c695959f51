#include "timing/counters.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "isa/matrix_shape.h"
#include "isa/semantics.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

// ---- instruction counters: one predicate each, asked once an Op ----

bool is_valu(const Semantics& s) { return s.unit == Unit::Valu || s.unit == Unit::Matrix; }
bool is_flat(const Semantics& s) { return s.space == Space::Flat || s.space == Space::Global || s.space == Space::Scratch; }
bool is_vmem(const Semantics& s) {
  return s.unit == Unit::VectorLoad || s.unit == Unit::VectorStore || s.unit == Unit::VectorAtomic;
}

std::string_view name_of(const Semantics& s) { return s.mnemonic; }
bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> stems) {
  return std::any_of(stems.begin(), stems.end(), [name](std::string_view stem) { return name.starts_with(stem); });
}

// Arithmetic of one precision. Packed FP32 counts once, as on silicon.
template <int Kind>
bool is_arithmetic(const Semantics& s, std::string_view suffix) {
  const auto name = name_of(s);
  if (s.unit != Unit::Valu || !name.ends_with(suffix)) return false;
  if (Kind == 0) return starts_with_any(name, {"v_add_f", "v_sub_f", "v_subrev_f", "v_pk_add_f"});
  if (Kind == 1) return starts_with_any(name, {"v_mul_f", "v_mul_legacy_f", "v_pk_mul_f"});
  if (Kind == 2) return starts_with_any(name, {"v_fma_f", "v_fmac_f", "v_fmamk_f", "v_fmaak_f", "v_mad_f", "v_mac_f", "v_pk_fma_f", "v_div_fmas_f"});
  return starts_with_any(name, {"v_exp_f", "v_log_f", "v_rcp_f", "v_rcp_iflag_f", "v_rsq_f", "v_sqrt_f", "v_sin_f", "v_cos_f"});
}

// Recorded vecCopy kernels show what counts: v_add_u32, v_cmp_*_i32, v_ashrrev_i32 and the carry adds do,
// v_mov_b32 and v_lshlrev_b64 do not: the type suffix decides.
bool is_integer(const Semantics& s, std::string_view a, std::string_view b) {
  const auto name = name_of(s);
  return s.unit == Unit::Valu && !name.starts_with("v_cvt") && (name.ends_with(a) || name.ends_with(b));
}

using Weight = double (*)(const Semantics&);

struct InstructionCounter {
  rpd_counter_info info;
  Weight weight;  // what one execution adds
};

#define COUNTS(NAME, TEXT, TEST) \
  InstructionCounter { {NAME, "SQ", TEXT}, []([[maybe_unused]] const Semantics& s) -> double { return TEST; } }
#define ARITHMETIC(KIND, NUMBER, SUFFIX, PRECISION)                                                     \
  COUNTS("SQ_INSTS_VALU_" KIND "_" PRECISION, "VALU " KIND " instructions in " PRECISION ", a wave each", \
         is_arithmetic<NUMBER>(s, SUFFIX))
#define ARITHMETICS(SUFFIX, PRECISION)                                                            \
  ARITHMETIC("ADD", 0, SUFFIX, PRECISION), ARITHMETIC("MUL", 1, SUFFIX, PRECISION),                 \
      ARITHMETIC("FMA", 2, SUFFIX, PRECISION), ARITHMETIC("TRANS", 3, SUFFIX, PRECISION)
#define MATRIX(PRECISION, SUFFIX)                                                                        \
  COUNTS("SQ_INSTS_VALU_MFMA_MOPS_" PRECISION, "MFMA operations on " PRECISION " in units of 512 operations", \
         s.unit == Unit::Matrix && name_of(s).ends_with(SUFFIX) ? matrix_operations(s) / 512 : 0)

const InstructionCounter kInstructionCounters[] = {
    COUNTS("SQ_INSTS", "instructions executed, a wave each", true),
    COUNTS("SQ_INSTS_VALU", "VALU and MFMA instructions, a wave each", is_valu(s)),
    COUNTS("SQ_INSTS_SALU", "scalar ALU instructions", s.unit == Unit::Salu),
    COUNTS("SQ_INSTS_SMEM", "scalar memory instructions", s.unit == Unit::Smem),
    COUNTS("SQ_INSTS_VMEM", "vector memory instructions", is_vmem(s)),
    COUNTS("SQ_INSTS_VMEM_RD", "vector memory loads (and atomics that return)", s.unit == Unit::VectorLoad),
    COUNTS("SQ_INSTS_VMEM_WR", "vector memory stores and atomics", s.unit == Unit::VectorStore || s.unit == Unit::VectorAtomic),
    COUNTS("SQ_INSTS_FLAT", "FLAT, GLOBAL and SCRATCH instructions", is_vmem(s) && is_flat(s)),
    COUNTS("SQ_INSTS_LDS", "LDS instructions", s.unit == Unit::Lds),
    COUNTS("SQ_INSTS_BRANCH", "branch instructions", s.unit == Unit::Branch),
    COUNTS("SQ_INSTS_SENDMSG", "messages and program ends", s.unit == Unit::Message || s.unit == Unit::End),
    ARITHMETICS("_f16", "F16"),
    ARITHMETICS("_f32", "F32"),
    ARITHMETICS("_f64", "F64"),
    COUNTS("SQ_INSTS_VALU_INT32", "32-bit integer VALU instructions", is_integer(s, "_i32", "_u32")),
    COUNTS("SQ_INSTS_VALU_INT64", "64-bit integer VALU instructions", is_integer(s, "_i64", "_u64")),
    COUNTS("SQ_INSTS_VALU_CVT", "conversion VALU instructions", name_of(s).starts_with("v_cvt")),
    COUNTS("SQ_INSTS_MFMA", "MFMA instructions", s.unit == Unit::Matrix),
    COUNTS("SQ_INSTS_VALU_MFMA_MOPS_F8", "MFMA operations on 8-bit floats in units of 512 operations",
           s.unit == Unit::Matrix && (name_of(s).ends_with("fp8") || name_of(s).ends_with("bf8")) ? matrix_operations(s) / 512 : 0),
    MATRIX("I8", "_i8"),
    MATRIX("F16", "_f16"),
    MATRIX("BF16", "_bf16"),
    MATRIX("F32", "_f32"),
    MATRIX("F64", "_f64"),
};

// ---- everything else: a value of the memory system or the timing model ----

struct SystemCounter {
  rpd_counter_info info;
  double (*value)(const MemoryCounts&, const WorkDone&);
};

#define MEMORY(NAME, BLOCK, TEXT, EXPRESSION)                                                         \
  SystemCounter {                                                                                     \
    {NAME, BLOCK, TEXT}, [](const MemoryCounts& m, const WorkDone& w) -> double { (void)m, (void)w; return static_cast<double>(EXPRESSION); } \
  }

const SystemCounter kSystemCounters[] = {
    MEMORY("SQ_WAVES", "SQ", "waves launched", w.waves),
    MEMORY("SQ_WAVE_CYCLES", "SQ", "modelled cycles of all waves, in units of four cycles", w.wave_cycles / 4),
    MEMORY("SQ_WAIT_ANY", "SQ", "modelled cycles that waves wait for memory or the LDS, in units of four cycles", w.wait_cycles / 4),
    MEMORY("SQ_BUSY_CYCLES", "SQ", "modelled cycles that waves are on the device, in units of four cycles, summed over 32 shader engines",
           w.busy_cycles * 32 / 4),
    MEMORY("GRBM_GUI_ACTIVE", "GRBM", "modelled cycles of the dispatch, summed over the XCDs", w.busy_cycles* parameter::xcds),
    MEMORY("SQ_LDS_IDX_ACTIVE", "SQ", "cycles of indexed LDS accesses, conflicts included", m.lds_active_cycles),
    MEMORY("SQ_LDS_BANK_CONFLICT", "SQ", "cycles lost to LDS bank conflicts", m.lds_conflict_cycles),
    MEMORY("TCP_TOTAL_CACHE_ACCESSES_sum", "TCP", "vector L1 tag look-ups", m.l1_accesses),
    MEMORY("TCP_TCC_READ_REQ_sum", "TCP", "read requests from the L1s to the L2, 128 bytes each", m.l1_read_requests),
    MEMORY("TCP_TCC_WRITE_REQ_sum", "TCP", "write requests from the L1s to the L2, up to 64 bytes each", m.l1_write_requests),
    MEMORY("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP", "atomic requests that return the old value", m.l1_atomics_with_return),
    MEMORY("TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "TCP", "atomic requests that return nothing", m.l1_atomics_without_return),
    MEMORY("TCC_REQ_sum", "TCC", "requests to the L2", m.l2_reads + m.l2_writes + m.l2_atomics),
    MEMORY("TCC_READ_sum", "TCC", "read requests to the L2", m.l2_reads),
    MEMORY("TCC_WRITE_sum", "TCC", "write requests to the L2", m.l2_writes),
    MEMORY("TCC_ATOMIC_sum", "TCC", "atomic requests to the L2", m.l2_atomics),
    MEMORY("TCC_HIT_sum", "TCC", "requests that hit the L2", m.l2_hits),
    MEMORY("TCC_MISS_sum", "TCC", "requests that missed the L2", m.l2_misses),
    MEMORY("TCC_WRITEBACK_sum", "TCC", "dirty lines written back from the L2", m.l2_writebacks),
    MEMORY("TCC_EA0_RDREQ_sum", "TCC", "read requests from the L2 to memory, all sizes", m.memory_reads128),
    MEMORY("TCC_BUBBLE_sum", "TCC", "read requests from the L2 to memory of 128 bytes", m.memory_reads128),
    MEMORY("TCC_EA0_RDREQ_32B_sum", "TCC", "read requests from the L2 to memory of 32 bytes", 0),
    MEMORY("TCC_EA0_WRREQ_sum", "TCC", "write requests from the L2 to memory, 32 and 64 bytes", m.memory_writes64 + m.memory_writes32),
    MEMORY("TCC_EA0_WRREQ_64B_sum", "TCC", "write requests from the L2 to memory of 64 bytes", m.memory_writes64),
};

constexpr size_t kInstructionCount = std::size(kInstructionCounters);

}  // namespace

const std::vector<rpd_counter_info>& counter_table() {
  // Never destroyed: dispatches may still end while the process exits.
  static const auto& table = *[] {
    auto& all = *new std::vector<rpd_counter_info>;
    for (const auto& counter : kInstructionCounters) all.push_back(counter.info);
    for (const auto& counter : kSystemCounters) all.push_back(counter.info);
    return &all;
  }();
  return table;
}

std::vector<double> counter_values(const Program& program, const std::vector<uint64_t>& executed,
                                   const MemoryCounts& memory, const WorkDone& work) {
  std::vector<double> values(counter_table().size(), 0.0);
  for (size_t i = 0; i < executed.size(); ++i) {
    if (executed[i] == 0) continue;
    const Semantics* semantics = program.op(i).semantics;
    if (!semantics) continue;
    for (size_t c = 0; c < kInstructionCount; ++c) {
      values[c] += kInstructionCounters[c].weight(*semantics) * static_cast<double>(executed[i]);
    }
  }
  for (size_t c = 0; c < std::size(kSystemCounters); ++c) values[kInstructionCount + c] = kSystemCounters[c].value(memory, work);
  return values;
}

}  // namespace rpd
