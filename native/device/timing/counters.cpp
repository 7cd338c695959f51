#include "timing/counters.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "counter_table.inc.h"
#include "isa/semantics.h"
#include "timing/issue_costs.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

// ---- instruction classes ----

bool has(const Op& op, Unit unit) { return op.semantics->unit == unit; }
bool is_valu(const Op& op) { return has(op, Unit::Valu) || has(op, Unit::Matrix); }
bool is_load(const Op& op) { return has(op, Unit::VectorLoad); }
bool is_store(const Op& op) { return has(op, Unit::VectorStore); }
bool is_atomic(const Op& op) { return has(op, Unit::VectorAtomic); }
bool is_vmem(const Op& op) { return is_load(op) || is_store(op) || is_atomic(op); }
bool is_buffer(const Op& op) { return is_vmem(op) && op.semantics->space == Space::Buffer; }
bool is_flat(const Op& op) { return is_vmem(op) && !is_buffer(op); }
bool is_scalar(const Op& op) { return has(op, Unit::Salu) || has(op, Unit::Smem); }
bool is_misc(const Op& op) { return has(op, Unit::Branch) || has(op, Unit::Message) || has(op, Unit::End); }
double valu_quads(const Op& op) { return issue_cost(op).valu_quads; }

bool is_scalar_atomic(const Op& op) { return has(op, Unit::Smem) && op.semantics->update != Update::None; }
bool is_scalar_store(const Op& op) { return has(op, Unit::Smem) && op.semantics->stores; }

bool is(const Op& op, Arithmetic kind) { return op.semantics->arithmetic == kind; }
// A packed FP32 instruction counts once, as on the hardware.
bool computes(const Op& op, Arithmetic kind, Precision precision) {
  return has(op, Unit::Valu) && is(op, kind) && op.semantics->precision == precision;
}
bool is_matrix(const Op& op, Precision precision) { return has(op, Unit::Matrix) && op.semantics->precision == precision; }
double operations512(const Op& op, Precision precision) {
  return is_matrix(op, precision) ? op.semantics->shape.operations() / 512 : 0;
}

// ---- counter definitions: either what each executed instruction adds, or a value of the dispatch as a whole ----

struct Dispatch {
  const MemoryCounts& memory;
  const WaveCounts& waves;
  const WorkDone& work;
};

// What has to be known for a value to be exact.
enum class DependsOn : uint8_t {
  Nothing,         // the value is always exact
  AllXcds,         // the activity of all XCDs
  L2Requests,      // also the initial contents of the L2s; counts requests or lines
  L2Cycles,        // also the initial contents of the L2s; counts cycles
};

struct Definition {
  Counter counter;
  double (*weight)(const Op&);        // what one execution adds; null if the counter is ...
  double (*value)(const Dispatch&);   // ... a value of the dispatch
  DependsOn depends_on = DependsOn::Nothing;
};

uint64_t shader_engines() { return static_cast<uint64_t>(parameter::shader_engines_per_xcd * parameter::xcds); }
constexpr int kQuad = 4;
// Reading a whole line counts as two reads of 64 bytes.
uint64_t reads_of_64_bytes(const MemoryCounts& memory) { return 2 * memory.memory_reads128 + memory.memory_reads64; }

#define INSTRUCTIONS(NAME, TEST)                                        \
  Definition {                                                          \
    Counter::NAME, [](const Op& op) -> double { return TEST; }, nullptr \
  }
#define VALUE(NAME, EXPRESSION)                                                                                          \
  Definition {                                                                                                           \
    Counter::NAME, nullptr, []([[maybe_unused]] const Dispatch& d) -> double { return static_cast<double>(EXPRESSION); } \
  }
#define VALUE_THAT_DEPENDS_ON(DEPENDS_ON, NAME, EXPRESSION)                                                         \
  Definition {                                                                                                      \
    Counter::NAME, nullptr, [](const Dispatch& d) -> double { return static_cast<double>(EXPRESSION); }, DEPENDS_ON \
  }
#define OBSERVED(NAME, EXPRESSION) VALUE_THAT_DEPENDS_ON(DependsOn::AllXcds, NAME, EXPRESSION)
#define OF_L2(NAME, EXPRESSION) VALUE_THAT_DEPENDS_ON(DependsOn::L2Requests, NAME, EXPRESSION)
#define OF_TIME(NAME, EXPRESSION) VALUE_THAT_DEPENDS_ON(DependsOn::L2Cycles, NAME, EXPRESSION)
#define ALWAYS_ZERO(NAME) VALUE(NAME, 0)
#define ARITHMETICS(PRECISION)                                                                                  \
  INSTRUCTIONS(SQ_INSTS_VALU_ADD_##PRECISION, computes(op, Arithmetic::Add, Precision::PRECISION)),             \
      INSTRUCTIONS(SQ_INSTS_VALU_MUL_##PRECISION, computes(op, Arithmetic::Multiply, Precision::PRECISION)),    \
      INSTRUCTIONS(SQ_INSTS_VALU_FMA_##PRECISION, computes(op, Arithmetic::MultiplyAdd, Precision::PRECISION)), \
      INSTRUCTIONS(SQ_INSTS_VALU_TRANS_##PRECISION, computes(op, Arithmetic::Transcendental, Precision::PRECISION))
#define MATRIX(PRECISION)                                                            \
  INSTRUCTIONS(SQ_INSTS_VALU_MFMA_##PRECISION, is_matrix(op, Precision::PRECISION)), \
      INSTRUCTIONS(SQ_INSTS_VALU_MFMA_MOPS_##PRECISION, operations512(op, Precision::PRECISION))

// The order does not matter; each counter of the table has exactly one definition.
const Definition kDefinitions[] = {
    VALUE(SQ_WAVES, d.work.waves),
    VALUE(SQ_WAVES_EQ_64, d.waves.full),
    VALUE(SQ_WAVES_LT_64, d.waves.below64),
    VALUE(SQ_WAVES_LT_48, d.waves.below48),
    VALUE(SQ_WAVES_LT_32, d.waves.below32),
    VALUE(SQ_WAVES_LT_16, d.waves.below16),
    ALWAYS_ZERO(SQ_WAVES_SAVED),
    ALWAYS_ZERO(SQ_WAVES_RESTORED),
    VALUE(SQ_ITEMS, d.waves.items),

    VALUE(SPI_CSN_WAVE, d.work.waves),
    VALUE(SPI_CSN_NUM_THREADGROUPS, d.waves.workgroups),

    INSTRUCTIONS(SQ_INSTS, op.semantics != nullptr),
    INSTRUCTIONS(SQ_INSTS_VALU, is_valu(op)),
    ARITHMETICS(F16),
    ARITHMETICS(F32),
    ARITHMETICS(F64),
    INSTRUCTIONS(SQ_INSTS_VALU_INT32, is(op, Arithmetic::Integer32)),
    INSTRUCTIONS(SQ_INSTS_VALU_INT64, is(op, Arithmetic::Integer64)),
    INSTRUCTIONS(SQ_INSTS_VALU_CVT, is(op, Arithmetic::Conversion)),
    INSTRUCTIONS(SQ_INSTS_MFMA, has(op, Unit::Matrix)),
    INSTRUCTIONS(SQ_INSTS_VALU_MFMA_MOPS_F8, operations512(op, Precision::F8)),
    MATRIX(F6F4),
    MATRIX(I8),
    MATRIX(F16),
    MATRIX(BF16),
    MATRIX(F32),
    MATRIX(F64),
    INSTRUCTIONS(SQ_INSTS_SALU, has(op, Unit::Salu)),
    INSTRUCTIONS(SQ_INSTS_SMEM, has(op, Unit::Smem)),
    INSTRUCTIONS(SQ_INSTS_SMEM_NORM, 2 * has(op, Unit::Smem)),
    INSTRUCTIONS(SQ_INSTS_VMEM, is_vmem(op)),
    INSTRUCTIONS(SQ_INSTS_VMEM_RD, is_load(op)),
    INSTRUCTIONS(SQ_INSTS_VMEM_WR, is_store(op) || is_atomic(op)),
    INSTRUCTIONS(SQ_INSTS_FLAT, is_flat(op)),
    INSTRUCTIONS(SQ_INSTS_LDS, has(op, Unit::Lds)),
    INSTRUCTIONS(SQ_INSTS_GDS, op.semantics->global_sync),
    ALWAYS_ZERO(SQ_INSTS_EXP_GDS),
    INSTRUCTIONS(SQ_INSTS_BRANCH, has(op, Unit::Branch)),
    INSTRUCTIONS(SQ_INSTS_SENDMSG, has(op, Unit::Message) || has(op, Unit::End)),
    ALWAYS_ZERO(SQ_INSTS_VSKIPPED),

    VALUE(SQ_THREAD_CYCLES_VALU, d.waves.valu_thread_quads),
    INSTRUCTIONS(SQ_ACTIVE_INST_ANY, valu_quads(op) + is_scalar(op) + is_vmem(op) + has(op, Unit::Lds) + is_misc(op)),
    INSTRUCTIONS(SQ_ACTIVE_INST_VALU, valu_quads(op)),
    INSTRUCTIONS(SQ_ACTIVE_INST_SCA, is_scalar(op)),
    INSTRUCTIONS(SQ_ACTIVE_INST_VMEM, is_buffer(op)),
    INSTRUCTIONS(SQ_ACTIVE_INST_FLAT, is_flat(op)),
    INSTRUCTIONS(SQ_ACTIVE_INST_LDS, has(op, Unit::Lds)),
    ALWAYS_ZERO(SQ_ACTIVE_INST_EXP_GDS),
    INSTRUCTIONS(SQ_ACTIVE_INST_MISC, is_misc(op)),
    INSTRUCTIONS(SQ_INST_CYCLES_VMEM_RD, is_load(op)),
    INSTRUCTIONS(SQ_INST_CYCLES_VMEM_WR, is_store(op) || is_atomic(op)),
    INSTRUCTIONS(SQ_INST_CYCLES_SMEM, has(op, Unit::Smem)),
    INSTRUCTIONS(SQ_INST_CYCLES_SALU, has(op, Unit::Salu)),
    INSTRUCTIONS(SQ_VALU_MFMA_BUSY_CYCLES, issue_cost(op).matrix_cycles),

    OF_TIME(SQ_CYCLES, (d.work.busy_cycles + d.work.release_cycles) * shader_engines()),
    OF_TIME(SQ_BUSY_CYCLES, d.work.busy_cycles* shader_engines()),
    OF_TIME(SQ_BUSY_CU_CYCLES, d.work.busy_cycles* d.waves.active_cus),
    OF_TIME(SQ_WAVE_CYCLES, d.work.wave_cycles / kQuad),
    OF_TIME(SQ_WAIT_ANY, d.work.wait_cycles / kQuad),
    OF_TIME(SQ_WAIT_INST_ANY, d.work.issue_wait_cycles / kQuad),
    OF_TIME(GRBM_COUNT, (d.work.busy_cycles + d.work.release_cycles) * parameter::xcds),
    OF_TIME(GRBM_GUI_ACTIVE, (d.work.busy_cycles + d.work.release_cycles) * parameter::xcds),

    OF_TIME(CPC_CPC_STAT_BUSY, (d.work.busy_cycles + d.work.release_cycles) * parameter::xcds),
    ALWAYS_ZERO(CPC_CPC_STAT_IDLE),
    OF_TIME(CPF_CPF_STAT_BUSY, (d.work.busy_cycles + d.work.release_cycles) * parameter::xcds),
    ALWAYS_ZERO(CPF_CPF_STAT_IDLE),

    OBSERVED(SQ_LDS_IDX_ACTIVE, d.memory.lds_active_cycles),
    OBSERVED(SQ_LDS_BANK_CONFLICT, d.memory.lds_conflict_cycles),
    OBSERVED(SQ_LDS_ADDR_CONFLICT, d.memory.lds_address_conflict_cycles),
    OBSERVED(SQ_LDS_ATOMIC_RETURN, d.memory.lds_atomic_return_cycles),
    ALWAYS_ZERO(SQ_LDS_MEM_VIOLATIONS),

    VALUE(SQC_DCACHE_REQ, d.memory.scalar_requests),
    VALUE(SQC_DCACHE_REQ_READ_1, d.memory.scalar_loads[0]),
    VALUE(SQC_DCACHE_REQ_READ_2, d.memory.scalar_loads[1]),
    VALUE(SQC_DCACHE_REQ_READ_4, d.memory.scalar_loads[2]),
    VALUE(SQC_DCACHE_REQ_READ_8, d.memory.scalar_loads[3]),
    VALUE(SQC_DCACHE_REQ_READ_16, d.memory.scalar_loads[4]),
    INSTRUCTIONS(SQC_DCACHE_ATOMIC, is_scalar_atomic(op)),
    OBSERVED(SQC_DCACHE_MISSES, d.memory.scalar_misses),
    OBSERVED(SQC_TC_DATA_READ_REQ, d.memory.scalar_misses),
    INSTRUCTIONS(SQC_TC_DATA_WRITE_REQ, is_scalar_store(op)),
    INSTRUCTIONS(SQC_TC_DATA_ATOMIC_REQ, is_scalar_atomic(op)),

    INSTRUCTIONS(TA_TOTAL_WAVEFRONTS_sum, is_vmem(op)),
    INSTRUCTIONS(TA_FLAT_WAVEFRONTS_sum, is_flat(op)),
    INSTRUCTIONS(TA_FLAT_READ_WAVEFRONTS_sum, is_flat(op) && is_load(op)),
    INSTRUCTIONS(TA_FLAT_WRITE_WAVEFRONTS_sum, is_flat(op) && is_store(op)),
    INSTRUCTIONS(TA_FLAT_ATOMIC_WAVEFRONTS_sum, is_flat(op) && is_atomic(op)),
    INSTRUCTIONS(TA_BUFFER_WAVEFRONTS_sum, is_buffer(op)),
    INSTRUCTIONS(TA_BUFFER_READ_WAVEFRONTS_sum, is_buffer(op) && is_load(op)),
    INSTRUCTIONS(TA_BUFFER_WRITE_WAVEFRONTS_sum, is_buffer(op) && is_store(op)),
    INSTRUCTIONS(TA_BUFFER_ATOMIC_WAVEFRONTS_sum, is_buffer(op) && is_atomic(op)),
    INSTRUCTIONS(TD_LOAD_WAVEFRONT_sum, is_vmem(op)),
    INSTRUCTIONS(TD_STORE_WAVEFRONT_sum, is_store(op)),
    INSTRUCTIONS(TD_ATOMIC_WAVEFRONT_sum, is_atomic(op)),

    INSTRUCTIONS(TCP_TA_TCP_STATE_READ_sum, is_vmem(op)),
    VALUE(TCP_TOTAL_ACCESSES_sum, d.memory.l1_lanes()),
    VALUE(TCP_TOTAL_READ_sum, d.memory.l1_lanes_reading),
    VALUE(TCP_TOTAL_WRITE_sum, d.memory.l1_lanes_writing),
    VALUE(TCP_TOTAL_ATOMIC_WITH_RET_sum, d.memory.l1_lanes_atomic_with_return),
    VALUE(TCP_TOTAL_ATOMIC_WITHOUT_RET_sum, d.memory.l1_lanes_atomic_without_return),
    OBSERVED(TCP_TOTAL_CACHE_ACCESSES_sum, d.memory.l1_accesses),
    OBSERVED(TCP_UTCL1_REQUEST_sum, d.memory.l1_accesses),
    VALUE(TCP_UTCL1_TRANSLATION_MISS_sum, d.memory.l1_tlb_misses),
    VALUE(TCP_TOTAL_WRITEBACK_INVALIDATES_sum, target_of_device().counts_l1_invalidations ? d.memory.l1_invalidations : 0),
    OBSERVED(TCP_TCC_READ_REQ_sum, d.memory.l1_read_requests*(kLineBytes / target_of_device().l1_line_bytes)),
    OBSERVED(TCP_TCC_WRITE_REQ_sum, d.memory.l1_write_requests),
    VALUE(TCP_TCC_ATOMIC_WITH_RET_REQ_sum, d.memory.l1_atomics_with_return),
    VALUE(TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum, d.memory.l1_atomics_without_return),

    OBSERVED(TCC_REQ_sum, d.memory.l2_reads + d.memory.l2_writes + d.memory.l2_atomics),
    OBSERVED(TCC_READ_sum, d.memory.l2_reads),
    OBSERVED(TCC_WRITE_sum, d.memory.l2_writes),
    VALUE(TCC_ATOMIC_sum, d.memory.l2_atomics),
    OF_L2(TCC_HIT_sum, d.memory.l2_hits),
    OF_L2(TCC_MISS_sum, d.memory.l2_misses),
    OF_L2(TCC_WRITEBACK_sum, d.memory.l2_writebacks),
    OF_L2(TCC_NORMAL_WRITEBACK_sum, d.memory.l2_eviction_writebacks),
    OF_L2(TCC_ALL_TC_OP_WB_WRITEBACK_sum, d.memory.l2_writebacks - d.memory.l2_eviction_writebacks),
    OF_L2(TCC_NORMAL_EVICT_sum, d.memory.l2_evictions),
    OF_L2(TCC_EA0_RDREQ_sum, d.memory.memory_reads128 + d.memory.memory_reads64),
    OF_L2(TCC_EA0_RDREQ_DRAM_sum, d.memory.memory_reads128 + d.memory.memory_reads64 - d.memory.remote_reads64),
    OF_TIME(TCC_EA0_RDREQ_LEVEL_sum, d.work.memory_read_cycles),
    OF_L2(TCC_BUBBLE_sum, d.memory.memory_reads128),
    ALWAYS_ZERO(TCC_EA0_RDREQ_32B_sum),
    OF_L2(TCC_EA_RDREQ_sum, reads_of_64_bytes(d.memory)),
    OF_L2(TCC_EA_RDREQ_DRAM_sum, reads_of_64_bytes(d.memory) - d.memory.remote_reads64),
    OF_TIME(TCC_EA_RDREQ_LEVEL_sum, d.work.memory_read_cycles),
    ALWAYS_ZERO(TCC_EA_RDREQ_32B_sum),
    OF_L2(TCC_EA_WRREQ_sum, d.memory.memory_writes64 + d.memory.memory_writes32),
    OF_L2(TCC_EA_WRREQ_64B_sum, d.memory.memory_writes64),
    OF_L2(TCC_EA0_WRREQ_sum, d.memory.memory_writes64 + d.memory.memory_writes32),
    OF_L2(TCC_EA0_WRREQ_64B_sum, d.memory.memory_writes64),
};

constexpr size_t kCounterCount = std::size(kCounters);
static_assert(std::size(kDefinitions) == kCounterCount, "counters.toml and the definitions disagree");

size_t index_of(const Definition& definition) { return static_cast<size_t>(definition.counter); }

// The counters that one execution of an instruction increases, and by how much. Both depend only on the instruction's
// semantics; there are few distinct semantics, and most of them leave most counters unchanged.
using Weights = std::vector<std::pair<size_t, double>>;

Weights weights_of(const Op& op) {
  Weights weights;
  for (const Definition& definition : kDefinitions) {
    if (!definition.weight) continue;
    if (const double weight = definition.weight(op)) weights.emplace_back(index_of(definition), weight);
  }
  return weights;
}

class WeightTable {
 public:
  const Weights& of(const Op& op) {
    const auto [entry, is_new] = table_.try_emplace(op.semantics);
    if (is_new) entry->second = weights_of(op);
    return entry->second;
  }

 private:
  std::unordered_map<const Semantics*, Weights> table_;
};

bool is_on_target(size_t index) {
  bool on_hardware = false;
  for (const HardwareEvent& event : kHardwareEvents) {
    if (static_cast<size_t>(event.counter) != index) continue;
    if (event.target == target_of_device().name) return true;
    on_hardware = true;
  }
  return !on_hardware;
}

// The positions of the target's counters in the list of all counters.
const std::vector<size_t>& indices_on_target() {
  // Never destroyed, since dispatches may still end while the process is exiting.
  static const auto& offered = *new std::vector<size_t>([] {
    std::vector<size_t> indices;
    for (size_t index = 0; index < kCounterCount; ++index)
      if (is_on_target(index)) indices.push_back(index);
    return indices;
  }());
  return offered;
}

bool is(size_t counter, Counter which) { return indices_on_target()[counter] == static_cast<size_t>(which); }

DependsOn dependency_of(size_t counter) {
  static const auto& table = *new std::vector<DependsOn>([] {
    std::vector<DependsOn> of(kCounterCount);
    for (const Definition& definition : kDefinitions) of[index_of(definition)] = definition.depends_on;
    return of;
  }());
  return table[indices_on_target()[counter]];
}

}  // namespace

const std::vector<rpd_counter_info>& counter_table() {
  static const auto& table = *new std::vector<rpd_counter_info>([] {
    std::vector<rpd_counter_info> offered;
    for (const size_t index : indices_on_target()) offered.push_back(kCounters[index]);
    return offered;
  }());
  return table;
}

std::optional<size_t> counter_of_event(std::string_view block, uint32_t event) {
  for (const HardwareEvent& entry : kHardwareEvents) {
    if (entry.event != event || entry.block != block || entry.target != target_of_device().name) continue;
    const auto index = std::ranges::find(indices_on_target(), static_cast<size_t>(entry.counter));
    if (index != indices_on_target().end()) return static_cast<size_t>(index - indices_on_target().begin());
  }
  return std::nullopt;
}

bool is_estimated(size_t counter) { return dependency_of(counter) != DependsOn::Nothing; }
bool depends_on_l2(size_t counter) {
  return dependency_of(counter) == DependsOn::L2Requests || dependency_of(counter) == DependsOn::L2Cycles;
}
double wave_cycles(const std::vector<double>& counters) {
  for (size_t i = 0; i < counters.size(); ++i)
    if (is(i, Counter::SQ_WAVE_CYCLES)) return counters[i];
  return 0;
}
bool is_part_of_wave_cycles(size_t counter) {
  return is(counter, Counter::SQ_WAIT_ANY) || is(counter, Counter::SQ_WAIT_INST_ANY);
}
bool is_request(size_t counter) { return dependency_of(counter) == DependsOn::L2Requests; }

std::vector<double> counter_values(const Program& program, const std::vector<uint64_t>& executed, const MemoryCounts& memory,
                                   const WaveCounts& waves, const WorkDone& work) {
  static std::mutex mutex;
  static auto& table = *new WeightTable;
  std::vector<double> values(kCounterCount, 0.0);
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < executed.size(); ++i) {
    if (executed[i] == 0 || !program.op(i).semantics) continue;
    for (const auto& [counter, weight] : table.of(program.op(i))) values[counter] += weight * static_cast<double>(executed[i]);
  }
  const Dispatch dispatch{memory, waves, work};
  for (const Definition& definition : kDefinitions) {
    if (definition.value) values[index_of(definition)] = definition.value(dispatch);
  }
  std::vector<double> offered;
  offered.reserve(indices_on_target().size());
  for (const size_t index : indices_on_target()) offered.push_back(values[index]);
  return offered;
}

}  // namespace rpd
