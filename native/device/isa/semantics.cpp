#include "isa/semantics.h"

#include <unordered_map>

namespace rpd {
namespace {

using Table = std::unordered_map<std::string_view, const Semantics*>;

Table table_of(std::span<const std::span<const Semantics>> families) {
  Table table;
  for (const auto family : families) {
    for (const Semantics& entry : family) table.emplace(entry.mnemonic, &entry);
  }
  return table;
}

// The tables are never destroyed, because queues may still be decoding while the process exits.
const Semantics* find_ocp_semantics(std::string_view mnemonic) {
  static const std::span<const Semantics> families[] = {ocp_conversion_semantics(), ocp_matrix_semantics()};
  static const Table& table = *new Table(table_of(families));
  const auto entry = table.find(mnemonic);
  return entry == table.end() ? nullptr : entry->second;
}

}  // namespace

const Semantics* find_semantics(std::string_view mnemonic) {
  if (target_of_device().rules.has_ocp_floats) {
    if (const Semantics* semantics = find_ocp_semantics(mnemonic)) return semantics;
  }
  static const Table& table = *new Table(table_of(semantics_families()));
  const auto entry = table.find(mnemonic);
  return entry == table.end() ? nullptr : entry->second;
}

std::span<const std::span<const Semantics>> semantics_families() {
  static const std::span<const Semantics> families[] = {
      scalar_alu_semantics(),
      control_semantics(),
      scalar_memory_semantics(),
      vector_integer_semantics(),
      vector_absolute_difference_semantics(),
      vector_float_semantics(),
      vector_cube_semantics(),
      vector_half_semantics(),
      vector_conversion_semantics(),
      vector_packed_semantics(),
      vector_compare_semantics(),
      vector_lane_semantics(),
      vector_register_relative_semantics(),
      vector_memory_semantics(),
      vector_buffer_semantics(),
      vector_buffer_format_semantics(),
      lds_semantics(),
      lds_crossbar_semantics(),
      global_sync_semantics(),
      matrix_semantics(),
      vector_scaled_semantics(),
      matrix_formats_semantics(),
  };
  return families;
}

}  // namespace rpd
