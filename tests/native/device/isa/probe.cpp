// Runs instructions on the device engine alone: no HIP, no ROCr, no timing. Driven by tests.
//
//   rpd_isa_probe run     < cases    > results    binary, see below
//   rpd_isa_probe run-lds-check                   the same with the device's option lds-check
//   rpd_isa_probe run-general                     the same without the faster way for the plain form of vector instructions
//   rpd_isa_probe run-wave32                      the same with waves of 32 lanes
//   rpd_isa_probe plain-forms        > lines      the mnemonics of the instructions that have that faster way
//   rpd_isa_probe decode  < code     > lines      one line per instruction from the start of the code:
//                                                 "<offset> ok|refused <text as the device has it>"
//   rpd_isa_probe survey  < sections > counts     for each section (its size in 4 bytes, then the code), see survey.h
//   rpd_isa_probe list               > lines      every entry of the table, see list_all
//   rpd_isa_probe classes            > lines      the classes of every entry that counters and costs use, see list_classes
//   rpd_isa_probe costs              > lines      "<mnemonic> <least cycles until its wave can issue again> <cycles
//   that its unit is busy>"
//
// A second argument is the target, gfx942 unless it is given.
//
// Input of a run: Header, the code, then header.cases cases: CaseHeader, 128 SGPRs, header.vgprs * 64 VGPRs
// ([register][lane]), header.agprs * 64 AGPRs, LDS bytes, scratch bytes of each of the 64 lanes, memory bytes.
// Output: for each case a ResultHeader, followed by the same state. All words are little-endian.
// A run fails if an instruction that only_computes() does more.
// The code is at kCodeAddress. Global memory spans a 4 GiB boundary, so that address carries matter.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "exec/execute_instruction.h"
#include "exec/instruction_events.h"
#include "isa/program.h"
#include "survey.h"
#include "timing/issue_costs.h"

namespace rpd {
namespace {

constexpr uint64_t kCodeAddress = 0x10000;
constexpr uint64_t kMemoryAddress = 0x100000000ull - 0x1000;
constexpr uint64_t kApertureBytes = 0x100100000ull;
constexpr uint32_t kRegisters = 512;         // of each kind, regardless of how many the case lists
constexpr uint32_t kInstructionLimit = 100000;

struct Header {
  uint32_t code_bytes, cases, vgprs, agprs, lds_bytes, scratch_bytes, memory_bytes;
};
struct CaseHeader {
  uint32_t entry;  // offset in the code
  uint32_t mode, scc;
};
struct ResultHeader {
  uint32_t faulted;
  uint32_t scc, mode;
  uint32_t executed;  // instructions
  char fault[256];    // why, and the instruction's text
};

class SilentObserver : public InstructionObserver {
 public:
  void vector_access(Wave&, const Op&, const VectorAccess&) override {}
  void scalar_access(Wave&, uint64_t, uint32_t) override {}
  void wait(Wave&, const WaitCounts&) override {}
};

// Device memory: an aperture that takes up no memory until it is touched.
class Aperture {
 public:
  Aperture() {
    void* base = mmap(nullptr, kApertureBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::runtime_error("cannot reserve the device's address space");
    space.set_aperture(static_cast<char*>(base), kApertureBytes);
  }
  AddressSpace space;
};

void read_exactly(void* to, size_t size) {
  if (size && std::fread(to, 1, size, stdin) != size) throw std::runtime_error("the input ends early");
}
void write_exactly(const void* from, size_t size) {
  if (size && std::fwrite(from, 1, size, stdout) != size) throw std::runtime_error("cannot write the results");
}

class Runner {
 public:
  explicit Runner(bool lds_check, bool general = false, uint64_t lanes = ~uint64_t{0})
      : lds_check_(lds_check), general_(general), lanes_(lanes), program_(aperture_.space) {
    read_exactly(&header_, sizeof header_);
    read_exactly(aperture_.space.at(kCodeAddress), header_.code_bytes);
    registers_.resize(2 * kRegisters * kLanes);
    lds_.resize(header_.lds_bytes);
    scratch_.resize(static_cast<size_t>(header_.scratch_bytes) * kLanes);
  }

  void run() {
    for (uint32_t i = 0; i < header_.cases; ++i) run_case();
  }

 private:
  // The parts of a case's state, in the order of the protocol.
  template <class Transfer>
  void transfer_state(Wave& wave, Transfer transfer) {
    transfer(wave.scalar, kScalarRegisters * sizeof(uint32_t));
    transfer(wave.vector, header_.vgprs * kLanes * sizeof(uint32_t));
    transfer(wave.accumulator, header_.agprs * kLanes * sizeof(uint32_t));
    transfer(lds_.data(), lds_.size());
    transfer(scratch_.data(), scratch_.size());
    transfer(aperture_.space.at(kMemoryAddress), header_.memory_bytes);
  }

  void run_case() {
    CaseHeader start;
    read_exactly(&start, sizeof start);
    Wave wave;
    wave.program = &program_;
    wave.lanes = lanes_;
    wave.vector = registers_.data();
    wave.accumulator = registers_.data() + kRegisters * kLanes;
    wave.scc = start.scc;
    wave.mode = start.mode;
    wave.lds = lds_.data();
    wave.lds_bytes = header_.lds_bytes;
    wave.lds_check = lds_check_;
    wave.scratch = scratch_.data();
    wave.scratch_bytes = header_.scratch_bytes;
    wave.memory = &aperture_.space;
    wave.observer = &observer_;
    transfer_state(wave, read_exactly);
    ResultHeader result{};
    wave.pc = program_.at(kCodeAddress + start.entry);
    execute(wave, result);
    result.scc = wave.scc;
    result.mode = wave.mode;
    write_exactly(&result, sizeof result);
    transfer_state(wave, write_exactly);
  }

  void execute(const Op& op, Wave& wave) const {
    if (!general_ || !op.semantics) return rpd::execute(op, wave);
    Op general = op;
    general.execute = op.semantics->execute;
    rpd::execute(general, wave);
  }

  static void expect_computation(const Op& op, const Wave& before, const Wave& after) {
    if (op.run.length == 0 || !is_usual(before.mode)) return;
    const bool computed =
        after.exec() == before.exec() && after.mode == before.mode && after.pc == op.next && after.state == WaveState::Running;
    if (!computed) throw std::runtime_error(std::string("more than a computation: ") + op.text);
  }

  void execute(Wave& wave, ResultHeader& result) const {
    const Op* op = nullptr;
    while (wave.state == WaveState::Running) {
      if (++result.executed > kInstructionLimit) throw std::runtime_error("a case does not end");
      op = wave.pc;
      const Wave before = wave;
      wave.pc = op->next;
      execute(*op, wave);
      expect_computation(*op, before, wave);
      if (wave.state == WaveState::AtBarrier) wave.state = WaveState::Running;  // this wave is its whole workgroup
    }
    if (wave.state != WaveState::Faulted) return;
    result.faulted = 1;
    std::snprintf(result.fault, sizeof result.fault, "%s | %s", wave.fault, op->text);
  }

  bool lds_check_, general_;
  uint64_t lanes_;
  Header header_;
  Aperture aperture_;
  Program program_;
  SilentObserver observer_;
  std::vector<uint32_t> registers_;
  std::vector<uint8_t> lds_, scratch_;
};

void decode_all() {
  const std::string code(std::istreambuf_iterator<char>(std::cin), {});
  Aperture aperture;
  std::memcpy(aperture.space.at(kCodeAddress), code.data(), code.size());
  Program program(aperture.space);
  for (uint64_t offset = 0; offset < code.size();) {
    const Op* op = program.at(kCodeAddress + offset);
    std::cout << offset << (op->semantics ? " ok " : " refused ") << op->text << '\n';
    offset += op->size;
  }
}

void survey_all() {
  Survey survey(target_of_device().isa_name);
  for (uint32_t bytes; std::fread(&bytes, 1, sizeof bytes, stdin) == sizeof bytes;) {
    std::vector<uint32_t> code(bytes / sizeof(uint32_t));
    read_exactly(code.data(), bytes);
    survey.section(code, std::cout);
  }
}

const char* name_of(Type type) {
  constexpr const char* names[] = {"none", "b16", "f16", "b32", "i32", "f32", "b64", "i64", "f64", "pk_f16", "lane"};
  return names[static_cast<int>(type)];
}

// "<mnemonic> <unit number> <destinations> <bytes> <accumulates> <packed> <destination type> <source types, none...>"
template <class F>
void for_each_entry(F f) {
  for (const auto family : semantics_families()) {
    for (const Semantics& entry : family) f(entry);
  }
}

void list_all() {
  for_each_entry([](const Semantics& entry) {
    std::cout << entry.mnemonic << ' ' << static_cast<int>(entry.unit) << ' ' << int{entry.destinations} << ' '
              << int{entry.bytes} << ' ' << entry.accumulates << ' ' << entry.packed << ' ' << name_of(entry.destination_type);
    for (const Type type : entry.source_types) std::cout << ' ' << name_of(type);
    std::cout << '\n';
  });
}

// "<mnemonic> <arithmetic> <precision> <M>x<N>x<K>x<blocks> <update> <stores> <leaves>", enumerations as numbers
void list_classes() {
  for_each_entry([](const Semantics& entry) {
    const MatrixShape& shape = entry.shape;
    std::cout << entry.mnemonic << ' ' << static_cast<int>(entry.arithmetic) << ' ' << static_cast<int>(entry.precision) << ' '
              << shape.m << 'x' << shape.n << 'x' << shape.k << 'x' << shape.blocks << ' ' << static_cast<int>(entry.update)
              << ' ' << entry.stores << ' ' << entry.leaves << '\n';
  });
}

void list_plain_forms() {
  for_each_entry([](const Semantics& entry) {
    if (entry.plain) std::cout << entry.mnemonic << '\n';
  });
}

void list_costs() {
  for_each_entry([](const Semantics& entry) {
    Op op;
    op.semantics = &entry;
    const IssueCost cost = issue_cost(op);
    std::cout << entry.mnemonic << ' ' << cost.wave_cycles << ' ' << cost.busy_cycles << '\n';
  });
}

}  // namespace
}  // namespace rpd

int main(int count, char** arguments) {
  const std::string command = count == 2 || count == 3 ? arguments[1] : "";
  try {
    if (count == 3) rpd::choose_target(std::string_view(arguments[2]));
    if (command == "run") rpd::Runner(false).run();
    else if (command == "run-lds-check") rpd::Runner(true).run();
    else if (command == "run-general") rpd::Runner(false, true).run();
    else if (command == "run-wave32") rpd::Runner(false, false, 0xffffffff).run();
    else if (command == "plain-forms") rpd::list_plain_forms();
    else if (command == "decode") rpd::decode_all();
    else if (command == "survey") rpd::survey_all();
    else if (command == "list") rpd::list_all();
    else if (command == "classes") rpd::list_classes();
    else if (command == "costs") rpd::list_costs();
    else
      throw std::runtime_error(
          "usage: rpd_isa_probe run|run-lds-check|run-general|run-wave32|plain-forms|decode|survey|list|classes|costs "
          "[TARGET]");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpd_isa_probe: %s\n", error.what());
    return 1;
  }
  return 0;
}
