#include "replay/session.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "capture/folder.h"
#include "replay/crash_report.h"
#include "replay/exit_codes.h"
#include "replay/sparse_file.h"

namespace rpd::replay {
namespace {

constexpr uint64_t kPage = capture::kPage;

std::string described(const Placement& placement) {
  std::string text = std::to_string(placement.bytes) + " bytes at " + hex(placement.base);
  text += placement.outcome == Outcome::relocated ? " would be relocated to " + hex(placement.actual) : " cannot be mapped";
  return text + " (" + placement.why + ")";
}

}  // namespace

std::vector<Placement> ranges_of(const capture::Capture& capture) {
  std::vector<Placement> ranges;
  for (const capture::Region& region : capture.regions()) ranges.push_back({region.base, region.bytes});
  return ranges;
}

std::vector<Placement> check_ranges(const capture::Capture& capture) {
  const Gpu gpu(capture.dispatch().origin.agent);
  return exact_memory(gpu.agents(), capture, nullptr)->map(capture.regions());
}

Session::Session(const capture::Capture& capture, std::span<const unsigned char> replacement, const std::string& file)
    : capture_(capture),
      gpu_(capture.dispatch().origin.agent),
      image_(capture),
      memory_(exact_memory(gpu_.agents(), capture, &image_)),
      replacement_(replacement.begin(), replacement.end()) {
  const std::vector<Placement> placements = memory_->map(capture.regions());
  if (const Placement* bad = first_not_exact(placements)) throw PlacementError(described(*bad));
  memory_->restore();
  if (!replacement.empty()) {
    fit_replacement(capture.dispatch(), capture.code(), replacement);
    const CurrentActivity loading(file, "ROCr's loader", kUnfit, kBuildIt, true);
    code_ = std::make_unique<LoadedCode>(gpu_.agents().agent, replacement, capture.dispatch().kernel.symbol);
  }
  set_launch({});
  if (code_) match_variables();
}

void Session::set_launch(const LaunchConfiguration& launch) {
  const capture::Dispatch& captured = capture_.dispatch();
  const capture::Dispatch dispatch = launched(captured, launch);
  packet_ = {dispatch.packet, code_ ? code_->kernel_object() : memory_->kernel_object(), captured.packet.kernarg_address,
             captured.packet.private_bytes, captured.packet.group_bytes};
  hidden_.clear();
  if (!code_ && launch.as_captured()) return;
  const ReplacementFit fitted =
      fit_replacement(dispatch, capture_.code(), code_ ? std::span(replacement_) : std::span(capture_.code()));
  packet_.private_bytes = fitted.private_bytes, packet_.group_bytes = fitted.group_bytes;
  if (launch.as_captured() && !fitted.has_uncaptured_arguments) return;
  hidden_ = hidden_values(dispatch, fitted.kernel);
}

// The new arguments go into separate memory; the captured arguments stay where they are, since other kernels may use them too.
void Session::place_arguments() {
  if (hidden_.empty()) return;
  if (!kernarg_) kernarg_ = std::make_unique<Kernarg>(gpu_.agents());
  std::vector<unsigned char> content(std::min<size_t>(capture_.kernarg().size(), Kernarg::kRoom));
  memory_->read(capture_.dispatch().packet.kernarg_address, content.data(), content.size());
  kernarg_->fill(std::move(content), hidden_);
  packet_.kernarg_address = kernarg_->address();
}

void Session::match_variables() {
  for (const capture::Variable& loaded : code_->variables()) {
    const auto& captured = capture_.dispatch().variables;
    const auto same = std::find_if(captured.begin(), captured.end(), [&](const auto& v) { return v.name == loaded.name; });
    if (same == captured.end()) {
      NewVariable variable{loaded.address, std::vector<unsigned char>(loaded.bytes)};
      memory_->read(loaded.address, variable.content.data(), loaded.bytes);
      new_variables_.push_back(std::move(variable));
    } else if (same->bytes != loaded.bytes) {
      throw UnfitCodeError("its variable " + loaded.name + " has " + std::to_string(loaded.bytes) + " bytes instead of " +
                           std::to_string(same->bytes));
    } else {
      relocated_variables_.push_back({same->address, loaded.address, loaded.bytes});
    }
  }
  restore();
}

void Session::restore() {
  memory_->restore();
  std::vector<unsigned char> content;
  for (const RelocatedVariable& variable : relocated_variables_) {
    content.resize(variable.bytes);
    memory_->read(variable.captured, content.data(), variable.bytes);
    memory_->write(variable.loaded, content.data(), variable.bytes);
  }
  for (const NewVariable& variable : new_variables_)
    memory_->write(variable.loaded, variable.content.data(), variable.content.size());
}

void Session::overlay(const std::vector<Overlay>& overlays) {
  ranges_changed_by_captured_kernel();  // must be determined from the captured inputs
  for (; !overwritten_.empty(); overwritten_.pop_back()) write_overlay(overwritten_.back());
  for (const Overlay& overlay : overlays) {
    const uint32_t region = region_of(overlay);
    const unsigned char* const covered = image_.before(region) + (overlay.address - capture_.regions()[region].base);
    overwritten_.push_back({overlay.address, {covered, covered + overlay.content.size()}});
    write_overlay(overlay);
  }
  restore();
}

// In loaded code, an overlay may change only variables.
bool Session::is_variable(const Overlay& overlay) const {
  const auto& variables = capture_.dispatch().variables;
  return std::any_of(variables.begin(), variables.end(), [&](const capture::Variable& variable) {
    return overlay.address >= variable.address && overlay.address + overlay.content.size() <= variable.address + variable.bytes;
  });
}

uint32_t Session::region_of(const Overlay& overlay) const {
  const auto& regions = capture_.regions();
  for (uint32_t i = 0; i < regions.size(); ++i) {
    const uint64_t offset = overlay.address - regions[i].base;
    if (overlay.address >= regions[i].base && offset <= regions[i].bytes &&
        overlay.content.size() <= regions[i].bytes - offset && (regions[i].kind != capture::Kind::code || is_variable(overlay)))
      return i;
  }
  throw InvalidOverlay(std::to_string(overlay.content.size()) + " bytes at " + hex(overlay.address) +
                       " are neither in a captured data region nor in a variable");
}

void Session::write_overlay(const Overlay& overlay) {
  const uint32_t region = region_of(overlay);
  image_.overlay(region, overlay.address - capture_.regions()[region].base, overlay.content);
}

const std::vector<Session::ChangedRange>& Session::ranges_changed_by_captured_kernel() {
  if (std::exchange(changed_known_, true)) return changed_;
  for (const capture::Block& block : capture_.blocks(capture::Phase::after)) {
    const unsigned char* const before = image_.before(block.region) + block.offset;
    const unsigned char* const after = image_.expected(block.region) + block.offset;
    const uint64_t address = capture_.regions()[block.region].base + block.offset;
    for (uint64_t i = 0; i < block.bytes; ++i) {
      if (before[i] == after[i]) continue;
      const uint64_t begin = i;
      while (i < block.bytes && before[i] != after[i]) ++i;
      changed_.push_back({address + begin, i - begin});
    }
  }
  return changed_;
}

void Session::poison(uint8_t value) {
  std::vector<unsigned char> content;
  for (const ChangedRange& range : ranges_changed_by_captured_kernel()) {
    content.assign(range.bytes, value);
    memory_->write(range.address, content.data(), range.bytes);
  }
}

Times Session::run(std::chrono::seconds limit) {
  place_arguments();
  const Times times = gpu_.run(packet_, limit);
  if (!hidden_.empty()) kernarg_->check_unchanged();
  std::vector<unsigned char> content;
  for (const RelocatedVariable& variable : relocated_variables_) {
    content.resize(variable.bytes);
    memory_->read(variable.loaded, content.data(), variable.bytes);
    memory_->write(variable.captured, content.data(), variable.bytes);
  }
  return times;
}

// The number of bytes that differ from the inputs. Only changed pages are read, since most regions have none and may be large.
uint64_t Session::count_changed(uint32_t region) {
  uint64_t differing = 0;
  std::vector<unsigned char> now;
  for (const PageRange& range : memory_->changed(region)) {
    now.resize(range.bytes);
    memory_->read(capture_.regions()[region].base + range.offset, now.data(), range.bytes);
    const unsigned char* const before = image_.before(region) + range.offset;
    if (std::memcmp(now.data(), before, range.bytes) == 0) continue;
    for (uint64_t k = 0; k < range.bytes; ++k) differing += now[k] != before[k];
  }
  return differing;
}

void Session::dump(const std::string& path) {
  const capture::Folder folder(path);
  nlohmann::ordered_json regions = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < capture_.regions().size(); ++i) {
    const capture::Region& region = capture_.regions()[i];
    const uint64_t differing = count_changed(i);
    if (differing == 0) continue;
    std::vector<unsigned char> now(image_.before(i), image_.before(i) + region.bytes);
    for (const PageRange& range : memory_->changed(i))
      memory_->read(region.base + range.offset, now.data() + range.offset, range.bytes);
    const std::string name = "region_" + hex(region.base).substr(2) + ".bin";
    write_sparse(folder, name, now.data(), region.bytes);
    regions.push_back({{"base", hex(region.base)},
                       {"bytes", region.bytes},
                       {"kind", capture::kKindNames[static_cast<size_t>(region.kind)]},
                       {"file", name},
                       {"changed_bytes", differing}});
  }
  const std::string text = nlohmann::ordered_json{{"schema_version", "1.0"}, {"regions", regions}}.dump(1) + "\n";
  folder.write("outputs.json", text.data(), text.size());
}

}  // namespace rpd::replay
