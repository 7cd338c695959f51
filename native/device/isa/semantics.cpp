#include "isa/semantics.h"

#include <unordered_map>

namespace rpd {
namespace {

using Table = std::unordered_map<std::string_view, const Semantics*>;

Table build_table() {
  Table table;
  for (const auto family : semantics_families()) {
    for (const Semantics& entry : family) table.emplace(entry.mnemonic, &entry);
  }
  return table;
}

}  // namespace

const Semantics* find_semantics(std::string_view mnemonic) {
  // Never destroyed: queues may still decode while the process exits.
  static const Table& table = *new Table(build_table());
  const auto found = table.find(mnemonic);
  return found == table.end() ? nullptr : found->second;
}

std::span<const std::span<const Semantics>> semantics_families() {
  static const std::span<const Semantics> families[] = {
      scalar_alu_semantics(),
      control_semantics(),
      scalar_memory_semantics(),
      vector_integer_semantics(),
      vector_difference_semantics(),
      vector_float_semantics(),
      vector_cube_semantics(),
      vector_half_semantics(),
      vector_conversion_semantics(),
      vector_packed_semantics(),
      vector_compare_semantics(),
      vector_lane_semantics(),
      vector_relative_semantics(),
      vector_memory_semantics(),
      vector_buffer_semantics(),
      vector_buffer_format_semantics(),
      lds_semantics(),
      global_sync_semantics(),
      matrix_semantics(),
  };
  return families;
}

}  // namespace rpd
