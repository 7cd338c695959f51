#include "isa/older_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rpd {
namespace {

// "no carry" (nc), "carry in" (ci): LLVM, VOP2Instructions.td and VOP3Instructions.td.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"v_add_nc_u32", "v_add_u32"},        {"v_sub_nc_u32", "v_sub_u32"},        {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_nc_i32", "v_add_i32"},        {"v_sub_nc_i32", "v_sub_i32"},        {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},        {"v_add_nc_i16", "v_add_i16"},        {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_co_ci_u32", "v_addc_co_u32"}, {"v_sub_co_ci_u32", "v_subb_co_u32"}, {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
};

}  // namespace

std::string_view older_name(std::string_view mnemonic) {
  const auto is = [mnemonic](const auto& names) { return names.first == mnemonic; };
  const auto* const entry = std::find_if(std::begin(kRenamed), std::end(kRenamed), is);
  return entry == std::end(kRenamed) ? mnemonic : entry->second;
}

}  // namespace rpd
