// A capture made alive in this process: memory in place, code loaded, ready to be run again and again.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/code.h"
#include "replay/comparison.h"
#include "replay/gpu.h"
#include "replay/overlay.h"

namespace rpd::replay {

// Memory cannot be had where the capture needs it.
struct NotExact : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // The process's ranges have been reserved. `replacement` is what another code object's file holds, or empty; `file` is its
  // name.
  // Throws NotExact, UnfitCode, InvalidCapture, std::runtime_error.
  Session(const capture::Capture& capture, std::span<const unsigned char> replacement, const std::string& file);

  void restore();
  // Restores memory with these other inputs in place of the captured, from now on; an earlier call's are gone.
  // Throws WrongOverlay.
  void overlay(const std::vector<Overlay>& overlays);
  // Overwrites the bytes that the captured kernel changed when it was captured.
  void poison(uint8_t value);
  void flush_caches() { memory_->flush_caches(); }
  // See Gpu.
  void set_device_options(const std::string& more) { gpu_.set_device_options(more); }
  Times run(std::chrono::seconds limit);

  Comparison compare(const std::vector<Tolerance>& tolerances) {
    return replay::compare(*memory_, image_, capture_, tolerances);
  }
  // Regions that differ from before the kernel, as files of a new or empty folder. Throws std::runtime_error.
  void dump(const std::string& folder);

  const Gpu& gpu() const { return gpu_; }
  const char* method() const { return memory_->method(); }

 private:
  // A variable of the replacement lies elsewhere than the captured one that it stands for.
  struct Twin {
    uint64_t captured, loaded, bytes;
  };
  struct Fresh {  // a variable that only the replacement has
    uint64_t loaded;
    std::vector<unsigned char> content;
  };
  // Bytes of whole runs, each changed by the captured kernel.
  struct Run {
    uint64_t address, bytes;
  };
  void adopt_variables();
  const std::vector<Run>& changed_by_the_captured_kernel();
  bool is_variable(const Overlay& overlay) const;
  uint32_t region_of(const Overlay& overlay) const;
  void put(const Overlay& overlay);

  const capture::Capture& capture_;
  Gpu gpu_;
  Image image_;
  std::unique_ptr<ExactMemory> memory_;
  std::unique_ptr<LoadedCode> code_;
  Packet packet_;
  std::vector<Run> changed_;
  bool changed_known_ = false;
  std::vector<Overlay> beneath_;  // what the overlays in place cover
  std::vector<Twin> twins_;
  std::vector<Fresh> fresh_;
};

// Whether each range can be had, for sure: it is reserved and mapped as for a replay.
std::vector<Placement> check_ranges(const capture::Capture& capture);

std::vector<Placement> ranges_of(const capture::Capture& capture);

}  // namespace rpd::replay
