#include "runtime/queues/pm4_commands.h"

#include <cinttypes>
#include <cstdio>
#include <span>

#include "isa/target.h"

namespace rpd {
namespace {

// Type 3 commands (Linux, soc15d.h and nvd.h): bits 31:30 hold the type, bits 29:16 the number of dwords that follow minus one,
// and bits 15:8 the opcode. Type 2 is a one-dword filler.
enum Opcode : uint32_t {
  kPredExec = 0x23,
  kWriteData = 0x37,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kAcquireMem = 0x58,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
};
constexpr uint32_t kType3 = 3;
constexpr uint32_t kShRegisters = 0x2c00, kUconfigRegisters = 0xc000;  // the first registers of the two set commands
constexpr uint32_t kPerfcountEnable = 0x2e0b;                          // COMPUTE_PERFCOUNT_ENABLE

// CP_COHER_CNTL of gfx9. When ROCr invalidates loaded code, it leaves the L1 bit clear and gives only the range of the code.
constexpr uint32_t kInvalidateL1 = 1u << 22, kInvalidateL2 = 1u << 23;

// The sources and destinations of COPY_DATA and WRITE_DATA.
enum Location : uint32_t { kRegister = 0, kMemory = 1, kL2 = 2, kPerfCounters = 4, kImmediate = 5, kMemoryByDestination = 5 };

bool is_register(uint32_t location) { return location == kRegister || location == kPerfCounters; }
bool is_memory(uint32_t location) { return location == kMemory || location == kL2 || location == kMemoryByDestination; }

uint64_t wide(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

// Runs a buffer of commands on one XCC.
class CommandInterpreter {
 public:
  CommandInterpreter(const AddressSpace& memory, uint32_t xcc, PerformanceMonitor& monitor, QueueRegisters& queue,
                     Pm4Commands::Outcome& outcome)
      : memory_(memory), xcc_(xcc), monitor_(monitor), queue_(queue), outcome_(outcome) {}

  void run_buffer(uint64_t address, uint32_t dwords) {
    if (depth_ == kDeepest) return fail("indirect buffers that point to each other", address);
    if (!memory_.allows(address, uint64_t{dwords} * sizeof(uint32_t), false))
      return fail("commands that the device cannot read", address);
    ++depth_;
    const std::span commands{memory_.at<const uint32_t>(address), dwords};
    for (size_t index = 0; index < commands.size() && outcome_.error.empty();) {
      const uint32_t header = commands[index];
      if (header >> 30 != kType3) {
        ++index;
        continue;
      }
      const size_t body = (header >> 16 & 0x3fff) + 1;
      if (body >= commands.size() - index) return fail("a command longer than its buffer", address + index * sizeof header);
      index += 1 + body + command(header >> 8 & 0xff, commands.subspan(index + 1, body));
    }
    --depth_;
  }

 private:
  static constexpr int kDeepest = 8;

  // Runs one command; returns the number of dwords to skip after it.
  uint32_t command(uint32_t opcode, std::span<const uint32_t> body) {
    if (body.size() < min_dwords(opcode)) return fail("a command too short for its opcode", opcode), 0;
    switch (opcode) {
      case kPredExec: return body[0] >> (24 + xcc_) & 1 ? 0 : body[0] & 0x3fff;
      case kWriteData: write_data(body); break;
      case kIndirectBuffer: run_buffer(wide(body[0] & ~3u, body[1] & 0xffff), body[2] & 0xfffff); break;
      case kCopyData: copy_data(body); break;
      case kAcquireMem: acquire_memory(body); break;
      case kSetShReg: set_registers(kShRegisters, body); break;
      case kSetUconfigReg: set_registers(kUconfigRegisters, body); break;
      default: break;
    }
    return 0;
  }

  static size_t min_dwords(uint32_t opcode) {
    switch (opcode) {
      case kCopyData: return 5;
      case kWriteData:
      case kIndirectBuffer: return 3;
      case kSetShReg:
      case kSetUconfigReg: return 2;
      default: return 1;
    }
  }

  void set_registers(uint32_t first, std::span<const uint32_t> body) {
    uint32_t address = first + (body[0] & 0xffff);
    for (const uint32_t value : body.subspan(1)) set(address++, value);
  }

  void set(uint32_t address, uint32_t value) {
    if (address == kPerfcountEnable) queue_.counts = value & 1;
    else monitor_.write(address, value);
  }

  void copy_data(std::span<const uint32_t> body) {
    const uint32_t source = body[0] & 0xf, destination = body[0] >> 8 & 0xf;
    const size_t dwords = body[0] >> 16 & 1 ? 2 : 1;
    const uint64_t from = wide(body[1], body[2]), to = wide(body[3], body[4]);
    for (size_t i = 0; i < dwords; ++i) {
      uint32_t value = 0;
      if (source == kImmediate) value = body[1 + i];
      else if (is_register(source)) value = monitor_.read(static_cast<uint32_t>(from + i));
      else if (is_memory(source)) value = load(from + i * sizeof value);
      store(destination, to, i, value);
    }
  }

  void write_data(std::span<const uint32_t> body) {
    const uint64_t to = wide(body[1], body[2]);
    for (size_t i = 3; i < body.size(); ++i) store(body[0] >> 8 & 0xf, to, body[0] >> 16 & 1 ? 0 : i - 3, body[i]);
  }

  void acquire_memory(std::span<const uint32_t> body) {
    outcome_.drops_code = true;
    const bool is_gfx9 = body.size() < 7;  // later generations append GCR_CNTL; ROCr's commands for them leave the L2 unchanged
    if (is_gfx9 && body[0] & kInvalidateL1 && body[0] & kInvalidateL2) outcome_.invalidates_l2 = true;
  }

  uint32_t load(uint64_t address) {
    if (reachable(address, false)) return *memory_.at<const uint32_t>(address);
    fail("a read of memory that the device cannot reach", address);
    return 0;
  }

  void store(uint32_t destination, uint64_t to, size_t index, uint32_t value) {
    if (is_register(destination)) return set(static_cast<uint32_t>(to + index), value);
    if (!is_memory(destination)) return;
    const uint64_t address = to + index * sizeof value;
    if (!reachable(address, true)) return fail("a write to memory that the device cannot reach", address);
    *memory_.at<uint32_t>(address) = value;
  }

  bool reachable(uint64_t address, bool writes) {
    if (address % sizeof(uint32_t) != 0) return false;
    if (writes != window_writes_ || !window_.holds(address, sizeof(uint32_t))) {
      window_ = memory_.window(address, writes);
      window_writes_ = writes;
    }
    return window_.holds(address, sizeof(uint32_t));
  }

  void fail(const char* problem, uint64_t address) {
    if (!outcome_.error.empty()) return;
    char text[120];
    std::snprintf(text, sizeof text, "PM4 commands: %s, 0x%" PRIx64, problem, address);
    outcome_.error = text;
  }

  const AddressSpace& memory_;
  uint32_t xcc_;
  PerformanceMonitor& monitor_;
  QueueRegisters& queue_;
  Pm4Commands::Outcome& outcome_;
  AccessWindow window_;
  bool window_writes_ = false;
  int depth_ = 0;
};

}  // namespace

Pm4Commands::Pm4Commands(const AddressSpace& memory) : memory_(memory) {
  for (uint32_t xcc = 0; xcc < target::xcds(); ++xcc) monitors_.emplace_back(xcc);
}

Pm4Commands::Outcome Pm4Commands::run(const Pm4IbPacket& packet, QueueRegisters& queue) {
  Outcome outcome;
  const uint32_t* jump = packet.jump;
  if ((jump[0] >> 8 & 0xff) != kIndirectBuffer) {
    outcome.error = "a PM4 packet that does not point to commands";
    return outcome;
  }
  const std::lock_guard lock(mutex_);
  for (uint32_t xcc = 0; xcc < monitors_.size() && outcome.error.empty(); ++xcc)
    CommandInterpreter(memory_, xcc, monitors_[xcc], queue, outcome)
        .run_buffer(wide(jump[1] & ~3u, jump[2] & 0xffff), jump[3] & 0xfffff);
  return outcome;
}

void Pm4Commands::count(const std::vector<double>& counters) {
  const std::lock_guard lock(mutex_);
  for (PerformanceMonitor& monitor : monitors_) monitor.count(counters);
}

}  // namespace rpd
