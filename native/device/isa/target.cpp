#include "isa/target.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace rpd {
namespace {

constexpr IsaRules kGfx9 = {.has_wave32 = false,
                            .packs_work_item_ids = true,
                            .keeps_halves = false,
                            .counts_stores_apart = false,
                            .compares_exec_alone = false,
                            .sgprs = 102,
                            .permuted_lanes = 64,
                            .max_scalar_wait = 0xf,
                            .has_ocp_floats = false};
constexpr IsaRules kGfx950 = [] {
  IsaRules rules = kGfx9;
  rules.has_ocp_floats = true;
  return rules;
}();
constexpr IsaRules kGfx10 = {.has_wave32 = true,
                             .packs_work_item_ids = false,
                             .keeps_halves = true,
                             .counts_stores_apart = true,
                             .compares_exec_alone = true,
                             .sgprs = 106,
                             .permuted_lanes = 32,
                             .max_scalar_wait = 0x3f,
                             .has_ocp_floats = false};

constexpr Target kTargets[] = {
    {.name = "gfx942",
     .isa_name = "amdgcn-amd-amdhsa--gfx942",
     .version = 90402,
     .architected_flat_scratch = true,
     .has_xcc_id = true,
     .names_scopes = true,
     .l1s_per_cu = 1,
     .l1_line_bytes = 128,
     .counts_l1_invalidations = true,
     .l2_channels_per_xcd = 16,    // AMD CDNA 3 white paper
     .level_sum_event = 184,       // rocprofiler-sdk, counter_defs.yaml: SQ_ACCUM_PREV_HIRES
     .scalar_caches_per_xcd = 20,  // recorded: 160 on the device; two of the 40 CUs of an XCD are disabled
     .lds_bytes_per_workgroup = 65536,
     .lds_granule = 512,
     .rules = kGfx9},
    {.name = "gfx90a",
     .isa_name = "amdgcn-amd-amdhsa--gfx90a",
     .version = 90010,
     .architected_flat_scratch = false,
     .has_xcc_id = false,
     .names_scopes = false,
     .l1s_per_cu = 1,
     .l1_line_bytes = 64,
     .counts_l1_invalidations = false,  // recorded: 0
     .l2_channels_per_xcd = 32,    // AMD CDNA 2 white paper
     .level_sum_event = 185,
     .scalar_caches_per_xcd = 56,  // for 112 CUs, two of which are disabled
     .lds_bytes_per_workgroup = 65536,
     .lds_granule = 512,
     .rules = kGfx9},
    {.name = "gfx1030",
     .isa_name = "amdgcn-amd-amdhsa--gfx1030",
     .version = 100300,
     .architected_flat_scratch = false,
     .has_xcc_id = false,
     .names_scopes = false,
     .l1s_per_cu = 2,  // of a WGP
     .l1_line_bytes = 128,
     .counts_l1_invalidations = false,
     .l2_channels_per_xcd = 16,    // AMD, RDNA 2: Navi 21
     .level_sum_event = 0,
     .scalar_caches_per_xcd = 36,  // one in a WGP
     .lds_bytes_per_workgroup = 65536,
     .lds_granule = 512,
     .rules = kGfx10},
    {.name = "gfx950",
     .isa_name = "amdgcn-amd-amdhsa--gfx950",
     .version = 90500,
     .architected_flat_scratch = true,
     .has_xcc_id = true,
     .names_scopes = true,
     .l1s_per_cu = 1,
     .l1_line_bytes = 128,
     .counts_l1_invalidations = true,  // as on gfx942
     .l2_channels_per_xcd = 16,        // AMD CDNA 4 white paper
     .level_sum_event = 200,           // rocprofiler-sdk, counter_defs.yaml
     .scalar_caches_per_xcd = 16,      // for 32 active CUs; which of the 36 are disabled is not published
     .lds_bytes_per_workgroup = 163840,
     .lds_granule = 1280,
     .rules = kGfx950},
};

const Target* chosen = &kTargets[0];

template <class Is>
const Target& find(Is is, const std::string& description) {
  const auto match = std::find_if(std::begin(kTargets), std::end(kTargets), is);
  if (match == std::end(kTargets)) throw std::runtime_error("the software device cannot be a " + description);
  return *match;
}

void choose(const Target& target) {
  chosen = &target;
  for (const parameter::Variable& variable : parameter::variables) {
    const double usual = variable.usual[parameter_table()];
    if (variable.integer) *variable.integer = static_cast<long>(usual);
    if (variable.real) *variable.real = usual;
  }
}

}  // namespace

const Target& target_of_device() { return *chosen; }

size_t parameter_table() {
  const auto* const entry = std::find(std::begin(parameter::targets), std::end(parameter::targets), chosen->name);
  return static_cast<size_t>(entry - std::begin(parameter::targets));
}

void choose_target(uint32_t version) {
  choose(find([&](const Target& target) { return target.version == version; }, "GPU of version " + std::to_string(version)));
}

void choose_target(std::string_view name) {
  choose(find([&](const Target& target) { return target.name == name; }, std::string(name)));
}

}  // namespace rpd
