// DS_GWS_*: initialisation and barrier. Semaphores are not implemented: no compiler uses them.
#include "exec/global_wave_sync.h"
#include "exec/operands.h"

namespace rpd {
namespace {

void nothing(const Op&, Wave&) {}

// The data in the first enabled lane is the number of waves that meet, minus one.
void meet(const Op& op, Wave& wave) {
  const uint64_t exec = wave.exec();
  const uint32_t others = wave.registers(op.source[0])[exec ? std::countr_zero(exec) : 0];
  wave.generation = wave.sync->generation;
  if (!wave.sync->arrive(others + 1)) wave.state = WaveState::AtGlobalBarrier;
}

const char* refuse_several_xcds(const Op&) { return target::xcds() > 1 ? "global wave sync between XCDs" : nullptr; }

constexpr Semantics global_sync(const char* name, Execute execute) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = Unit::Nop,
          .destinations = 0,
          .destination_type = Type::None,
          .source_types = {Type::B32},
          .refusal = refuse_several_xcds,
          .global_sync = true};
}

// Each barrier instruction states the number of waves, so initialisation has nothing to do.
const Semantics kTable[] = {
    global_sync("ds_gws_init", nothing),
    global_sync("ds_gws_barrier", meet),
};

}  // namespace

std::span<const Semantics> global_sync_semantics() { return kTable; }

}  // namespace rpd
