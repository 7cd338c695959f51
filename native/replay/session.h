// A capture set up in this process: its memory is in place and its code loaded, ready to be run repeatedly.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/code.h"
#include "replay/comparison.h"
#include "replay/gpu.h"
#include "replay/kernarg.h"
#include "replay/launch.h"
#include "replay/overlay.h"

namespace rpd::replay {

// Memory is not available at the addresses that the capture needs.
struct PlacementError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // The capture's ranges must have been reserved. `replacement` is the content of another code object's file, or empty; `file`
  // is its name. Throws PlacementError, UnfitCodeError, InvalidCapture, std::runtime_error.
  Session(const capture::Capture& capture, std::span<const unsigned char> replacement, const std::string& file);

  void restore();
  // From now on, launches have this shape. Throws InvalidLaunch, UnfitCodeError.
  void set_launch(const LaunchConfiguration& launch);
  // Replaces captured inputs with these, now and in later calls to restore(). Removes the overlays of any earlier call. Throws
  // InvalidOverlay.
  void overlay(const std::vector<Overlay>& overlays);
  // Overwrites the bytes that the kernel changed when it was captured.
  void poison(uint8_t value);
  void flush_caches() { memory_->flush_caches(); }
  // See Gpu.
  void set_device_options(const std::string& more) { gpu_.set_device_options(more); }
  Times run(std::chrono::seconds limit);

  Comparison compare(const std::vector<Tolerance>& tolerances) {
    return replay::compare(*memory_, image_, capture_, tolerances);
  }
  // Writes each region whose content differs from that before the kernel to its own file in `folder`, which must exist, and
  // lists these regions in outputs.json. Throws std::runtime_error.
  void dump(const std::string& folder);

  const Gpu& gpu() const { return gpu_; }
  const char* method() const { return memory_->method(); }

 private:
  // A variable of the replacement that corresponds to a captured variable at a different address.
  struct RelocatedVariable {
    uint64_t captured, loaded, bytes;
  };
  struct NewVariable {  // a variable that only the replacement has
    uint64_t loaded;
    std::vector<unsigned char> content;
  };
  // A run of consecutive bytes that the captured kernel changed.
  struct ChangedRange {
    uint64_t address, bytes;
  };
  void match_variables();
  void place_arguments();
  uint64_t count_changed(uint32_t region);
  const std::vector<ChangedRange>& ranges_changed_by_captured_kernel();
  bool is_variable(const Overlay& overlay) const;
  uint32_t region_of(const Overlay& overlay) const;
  void write_overlay(const Overlay& overlay);

  const capture::Capture& capture_;
  Gpu gpu_;
  Image image_;
  std::unique_ptr<ExactMemory> memory_;
  std::unique_ptr<LoadedCode> code_;
  const std::vector<unsigned char> replacement_;
  Packet packet_;
  std::vector<HiddenValue> hidden_;  // values that differ from the captured arguments; empty if none do
  std::unique_ptr<Kernarg> kernarg_;
  std::vector<ChangedRange> changed_;
  bool changed_known_ = false;
  std::vector<Overlay> overwritten_;  // the bytes that the current overlays have replaced
  std::vector<RelocatedVariable> relocated_variables_;
  std::vector<NewVariable> new_variables_;
};

// Reliably checks whether each range is available, by reserving and mapping it as a replay would.
std::vector<Placement> check_ranges(const capture::Capture& capture);

std::vector<Placement> ranges_of(const capture::Capture& capture);

}  // namespace rpd::replay
