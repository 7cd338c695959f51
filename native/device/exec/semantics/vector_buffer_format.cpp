// Loads and stores that convert formats: MTBUF instructions, which specify the format themselves, and MUBUF's format
// instructions, which use the format in the buffer's descriptor. The descriptor also selects the source of each component
// (CDNA3 ISA, "Buffer data").
#include "exec/buffer_access.h"
#include "exec/buffer_format.h"
#include "exec/lane_values.h"
#include "exec/lds_transfer.h"

namespace rpd {
namespace {

using Components = std::array<uint32_t, kComponents>;

// The source of a component in a register: the constant 0 or 1, or, from 4 on, X, Y, Z or W.
enum Source : uint32_t { kZero = 0, kOne = 1, kX = 4 };

struct Layout {
  BufferFormat format;
  std::array<uint32_t, kComponents> from;
};

// For tbuffer: the components in order, with 0 for those that the format does not have.
Layout layout_of(const Op& op, const BufferDescriptor& buffer) {
  if (op.semantics->needs_format) return {{op.immediate >> 19, op.immediate >> 23}, {kX, kX + 1, kX + 2, kX + 3}};
  const uint32_t word = buffer.format;
  return {{word >> 15, word >> 12}, {word & 7, word >> 3 & 7, word >> 6 & 7, word >> 9 & 7}};
}

uint32_t one(const BufferFormat& format) { return format.is_integer() ? 1 : bits_of(1.0f); }

Components arranged(const Layout& layout, const Components& in_memory) {
  Components out{};
  for (int i = 0; i < kComponents; ++i) {
    if (layout.from[i] >= kX) out[i] = in_memory[layout.from[i] - kX];
    else if (layout.from[i] == kOne) out[i] = one(layout.format);
  }
  return out;
}

// The reverse, for stores: components that no register maps to are written as 0.
Components rearranged(const Layout& layout, const Components& in_registers) {
  Components out{};
  for (int i = kComponents - 1; i >= 0; --i) {
    if (layout.from[i] >= kX) out[layout.from[i] - kX] = in_registers[i];
  }
  return out;
}

// ---- registers: each holds one component, or two 16-bit components ----

enum class Width { Whole, Halves, UpperHalf };

uint32_t to_half(const BufferFormat& format, uint32_t bits) {
  return format.is_integer() ? bits & 0xffff : bits_of(static_cast<Half>(from_bits<float>(bits)));
}
uint32_t from_half(const BufferFormat& format, uint32_t half) {
  const auto bits = static_cast<uint16_t>(half);
  if (!format.is_integer()) return bits_of(static_cast<float>(from_bits<Half>(bits)));
  return format.is_signed_integer() ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(bits)}) : bits;
}

template <int Count, Width W>
void put(const BufferFormat& format, const Components& values, uint32_t* reg, int lane) {
  for (int i = 0; i < Count; ++i) {
    if constexpr (W == Width::Whole) {
      reg[i * kLanes + lane] = values[i];
    } else {
      uint32_t& word = reg[i / 2 * kLanes + lane];
      const bool upper = W == Width::UpperHalf || i % 2;
      word = upper ? place_narrow<Half16::High>(word, to_half(format, values[i]))
                   : place_narrow<Half16::Low>(word, to_half(format, values[i]));
    }
  }
}

template <int Count, Width W>
Components get(const BufferFormat& format, const uint32_t* reg, int lane) {
  Components values{};
  for (int i = 0; i < Count; ++i) {
    if constexpr (W == Width::Whole) values[i] = reg[i * kLanes + lane];
    else values[i] = from_half(format, reg[i / 2 * kLanes + lane] >> (W == Width::UpperHalf || i % 2 ? 16 : 0));
  }
  return values;
}

// ---- the accesses: an element is either entirely in range or out of range ----

template <class Access>
void for_each_element(const Op& op, Wave& wave, AccessKind kind, Access access) {
  const BufferDescriptor buffer(wave, op.source[1]);
  const Layout layout = layout_of(op, buffer);
  if (!layout.format.exists()) return wave.raise("a buffer format that does not exist", op.address);
  const uint32_t bytes = layout.format.bytes();
  if (bytes == 0) {
    for (uint64_t remaining = wave.exec(); remaining; remaining &= remaining - 1)
      access(layout, std::countr_zero(remaining), static_cast<uint8_t*>(nullptr));
    return;
  }
  for_each_buffer_lane(op, wave, buffer, kind, bytes, bytes,
                       [&](int l, uint8_t* pointer, uint32_t) { access(layout, l, pointer); });
}

void load_to_lds(const Op& op, Wave& wave) {
  LdsTransfer to_lds(op, wave);
  for_each_element(op, wave, AccessKind::Load, [&to_lds](const Layout& layout, int l, const uint8_t* source) {
    to_lds.store(l, source ? arranged(layout, layout.format.unpack(source))[0] : 0);
  });
  to_lds.finish();
}

template <int Count, Width W>
void load(const Op& op, Wave& wave) {
  if (op.to_lds) return load_to_lds(op, wave);  // one component: there is no encoding for more
  uint32_t* reg = wave.registers(op.destination);
  for_each_element(op, wave, AccessKind::Load, [reg](const Layout& layout, int l, const uint8_t* source) {
    const Components values = source ? arranged(layout, layout.format.unpack(source)) : Components{};
    put<Count, W>(layout.format, values, reg, l);
  });
}

template <int Count, Width W>
void store(const Op& op, Wave& wave) {
  const uint32_t* reg = wave.registers(op.source[3]);
  for_each_element(op, wave, AccessKind::Store, [reg](const Layout& layout, int l, uint8_t* destination) {
    if (destination) layout.format.pack(rearranged(layout, get<Count, W>(layout.format, reg, l)), destination);
  });
}

constexpr Semantics format(const char* name, Execute execute, Unit unit, int bytes, bool in_instruction) {
  return {.mnemonic = name,
          .execute = execute,
          .unit = unit,
          .destinations = static_cast<uint8_t>(unit == Unit::VectorLoad ? 1 : 0),
          .destination_type = Type::B32,
          .source_types = {Type::B32, Type::B32, Type::B32, Type::B32},
          .converts_format = true,
          .needs_format = in_instruction,
          .space = Space::Buffer,
          .bytes = static_cast<uint8_t>(bytes)};
}

// `BYTES`: the size of a lane's components in registers.
#define ONE(KIND, NAME, COUNT, WIDTH, BYTES)                                                                    \
  format(KIND "buffer_load_format_" NAME, load<COUNT, Width::WIDTH>, Unit::VectorLoad, BYTES, sizeof KIND > 1), \
      format(KIND "buffer_store_format_" NAME, store<COUNT, Width::WIDTH>, Unit::VectorStore, BYTES, sizeof KIND > 1)
#define ALL(KIND)                                                                                                             \
  ONE(KIND, "x", 1, Whole, 4), ONE(KIND, "xy", 2, Whole, 8), ONE(KIND, "xyz", 3, Whole, 12), ONE(KIND, "xyzw", 4, Whole, 16), \
      ONE(KIND, "d16_x", 1, Halves, 2), ONE(KIND, "d16_xy", 2, Halves, 4), ONE(KIND, "d16_xyz", 3, Halves, 6),                \
      ONE(KIND, "d16_xyzw", 4, Halves, 8)

const Semantics kTable[] = {ALL(""), ALL("t"), ONE("", "d16_hi_x", 1, UpperHalf, 2)};

}  // namespace

std::span<const Semantics> vector_buffer_format_semantics() { return kTable; }

}  // namespace rpd
