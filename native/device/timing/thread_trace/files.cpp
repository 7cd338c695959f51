#include "timing/thread_trace/files.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <unordered_map>

#include "isa/semantics.h"
#include "timing/thread_trace/json_text.h"
#include "timing/thread_trace/wait_dependencies.h"
#include "timing_parameters.inc.h"

namespace rpd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "3.0.0";  // of the format
constexpr uint64_t kRealtimeHz = 100'000'000;

// Instruction categories and wave states, numbered as in the gfx9 decoder.
enum Category { kSmem = 1, kSalu, kBuffer, kFlat, kLds, kValu, kTaken, kNotTaken, kImmediate, kContext, kMessage };
enum State { kEmpty, kIdle, kExecuting, kWaiting, kStalled, kStates };

Category category_of(const Op& op, const Op* next) {
  switch (op.semantics->unit) {
    case Unit::Valu:
    case Unit::Matrix: return kValu;
    case Unit::Salu: return kSalu;
    case Unit::Smem: return kSmem;
    case Unit::VectorLoad:
    case Unit::VectorStore:
    case Unit::VectorAtomic: return op.semantics->space == Space::Buffer ? kBuffer : kFlat;
    case Unit::Lds: return kLds;
    case Unit::Branch: return next == op.next ? kNotTaken : kTaken;
    case Unit::Barrier:
    case Unit::Wait:
    case Unit::Nop: return kImmediate;
    case Unit::CacheControl: return is_for_scalar_caches(op.semantics->cache_control) ? kSmem : kBuffer;
    case Unit::Message:
    case Unit::End: return kMessage;
  }
  return kMessage;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? text.get() : "";
}

struct Sums {
  uint64_t hits = 0, latency = 0, stall = 0, idle = 0;
};

// Writes one dispatch's trace to the files.
class Writer {
 public:
  Writer(const fs::path& folder, const ThreadTraceSubject& of, const Timeline& timeline, const Listing& listing)
      : folder_(folder), of_(of), timeline_(timeline), listing_(listing) {
    number_lines();
    for (const TimelineWave& wave : timeline.waves()) {
      if (of.simds >> wave.simd & 1 && !wave.entries.empty()) traced_.push_back(&wave);
    }
    for (const TimelineWave* wave : traced_) add_up(*wave);
  }

  void write_folder() {
    waves();
    code();
    occupancy();
    realtime();
    states();
  }

  std::string csv() const;

 private:
  struct Line {
    uint64_t number;
    Sums sums;
  };

  void number_lines();
  void add_up(const TimelineWave& wave);
  uint64_t line(const Op& op) const { return lines_.at(op.address).number; }
  void waves();
  void wave(const TimelineWave& wave, uint32_t id, const std::string& name);
  void code() const;
  void occupancy() const;
  void realtime() const;
  void states() const;
  std::vector<std::pair<State, uint64_t>> states_of(const TimelineWave& wave) const;

  const fs::path folder_;
  const ThreadTraceSubject& of_;
  const Timeline& timeline_;
  const Listing& listing_;
  std::vector<const TimelineWave*> traced_;
  std::unordered_map<uint64_t, Line> lines_;  // by device address
};

// A kernel's heading takes a line of its own.
void Writer::number_lines() {
  uint64_t next = 0;
  for (const auto& [address, instruction] : listing_) {
    if (!instruction.kernel.empty()) ++next;
    lines_[address] = {next++, {}};
  }
}

void Writer::add_up(const TimelineWave& wave) {
  uint64_t before = wave.begin;
  for (const TimelineEntry& entry : wave.entries) {
    Sums& sums = lines_.at(entry.op->address).sums;
    ++sums.hits;
    sums.latency += entry.latency;
    sums.stall += entry.stall;
    sums.idle += entry.time > before ? entry.time - before : 0;
    before = std::max(before, entry.time + entry.latency);
  }
}

// The wave's states, in chronological order. Stalls stay separate, one per instruction.
std::vector<std::pair<State, uint64_t>> Writer::states_of(const TimelineWave& wave) const {
  std::vector<std::pair<State, uint64_t>> states;
  const auto add = [&](State state, uint64_t cycles) {
    if (cycles == 0) return;
    if (state == kExecuting && !states.empty() && states.back().first == state) states.back().second += cycles;
    else states.emplace_back(state, cycles);
  };
  uint64_t now = wave.begin;
  for (size_t i = 0; i < wave.entries.size(); ++i) {
    const TimelineEntry& entry = wave.entries[i];
    add(i == 0 ? kIdle : kExecuting, entry.time - now);
    const bool waits = category_of(*entry.op, nullptr) == kImmediate;
    add(waits ? kWaiting : kStalled, entry.stall);
    add(kExecuting, entry.latency - entry.stall);
    now = entry.time + entry.latency;
  }
  return states;
}

void Writer::wave(const TimelineWave& wave, uint32_t id, const std::string& name) {
  JsonText json;
  json.raw("{\"duration\":")
      .number(wave.end - wave.begin)
      .raw(",\"name\":\"SE0\",\"num_insts\":")
      .number(wave.entries.size() + wave.lost);
  json.raw(",\"num_stitched\":").number(wave.entries.size()).raw(",\"wave\":{\"begin\":").number(wave.begin);
  json.raw(",\"cu\":").number(of_.cu).raw(",\"end\":").number(wave.end).raw(",\"id\":").number(id);
  json.raw(",\"instructions\":").list(wave.entries, [&](const TimelineEntry& entry) {
    const bool last = &entry == &wave.entries.back();
    const Category category = category_of(*entry.op, last ? nullptr : (&entry + 1)->op);
    json.numbers({entry.time, category, entry.stall, entry.latency, line(*entry.op)});
  });
  json.raw(",\"simd\":").number(wave.simd).raw(",\"slot\":").number(wave.slot);
  json.raw(",\"timeline\":").list(states_of(wave), [&](const auto& state) { json.numbers({state.first, state.second}); });
  json.raw(",\"waitcnt\":").list(wait_dependencies(wave), [&](const WaitDependencies& wait) {
    json.raw("[").number(line(*wave.entries[wait.wait].op)).raw(",");
    json.list(wait.accesses, [&](size_t access) { json.numbers({line(*wave.entries[access].op), 0}); }).raw("]");
  });
  json.raw("}}");
  write_file(folder_ / name, json.text());
}

void Writer::waves() {
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, std::pair<std::string, const TimelineWave*>>> names;
  for (const TimelineWave* traced : traced_) {
    auto& in_slot = names[{traced->simd, traced->slot}];
    const auto id = static_cast<uint32_t>(in_slot.size());
    std::string name =
        "se0_sm" + std::to_string(traced->simd) + "_sl" + std::to_string(traced->slot) + "_wv" + std::to_string(id) + ".json";
    wave(*traced, id, name);
    in_slot[id] = {std::move(name), traced};
  }
  JsonText json;
  json.raw("{\"counter_names\":[],\"gfxip\":9,\"gfxv\":\"vega\",\"global_begin_time\":0,\"version\":").string(kVersion);
  json.raw(",\"wave_filenames\":{");
  if (!names.empty()) json.raw("\"0\":{");
  for (auto it = names.begin(); it != names.end(); ++it) {
    const bool new_simd = it == names.begin() || std::prev(it)->first.first != it->first.first;
    if (it != names.begin()) json.raw(new_simd ? "}," : ",");
    if (new_simd) json.raw("\"").number(it->first.first).raw("\":{");
    json.raw("\"").number(it->first.second).raw("\":{");
    for (auto id = it->second.begin(); id != it->second.end(); ++id) {
      const auto& [name, traced] = id->second;
      json.raw(id == it->second.begin() ? "\"" : ",\"").number(id->first).raw("\":[").string(name);
      json.raw(",").number(traced->begin).raw(",").number(traced->end).raw("]");
    }
    json.raw("}");
  }
  json.raw(names.empty() ? "}}" : "}}}}");
  write_file(folder_ / "filenames.json", json.text());
}

void Writer::code() const {
  JsonText json;
  json.raw("{\"code\":[");
  bool first = true;
  for (const auto& [address, instruction] : listing_) {
    const Line& line = lines_.at(address);
    if (!first) json.raw(",");
    first = false;
    if (!instruction.kernel.empty()) {
      json.raw("[")
          .string("; " + instruction.kernel)
          .raw(",0,")
          .number(line.number - 1)
          .raw(",")
          .string(demangled(instruction.kernel));
      json.raw(",").number(instruction.code_object).raw(",").number(instruction.vaddr).raw(",0,0,0,0],");
    }
    json.raw("[").string(instruction.text).raw(",0,").number(line.number).raw(",").string(instruction.source);
    for (const uint64_t value :
         {instruction.code_object, instruction.vaddr, line.sums.hits, line.sums.latency, line.sums.stall, line.sums.idle}) {
      json.raw(",").number(value);
    }
    json.raw("]");
  }
  json.raw("],\"header\":\"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle\",\"version\":")
      .string(kVersion)
      .raw("}");
  write_file(folder_ / "code.json", json.text());
}

void Writer::occupancy() const {
  struct Event {
    uint64_t time;
    const TimelineWave* wave;
    bool start;
  };
  std::vector<Event> events;
  for (const TimelineWave& wave : timeline_.waves()) {
    events.push_back({wave.begin, &wave, true});
    events.push_back({wave.end, &wave, false});
  }
  // At equal times, ends come first: a slot is freed before it is taken again.
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.start < b.start; });
  JsonText json;
  json.raw("{");
  if (!events.empty()) {
    json.raw("\"0\":").list(events, [&](const Event& event) {
      json.numbers({event.time, of_.cu, event.wave->simd, event.wave->slot, event.start, 1});
    });
    json.raw(",");
  }
  json.raw("\"dispatches\":{\"0\":\"0 / 0x0\",\"1\":").string(of_.kernel).raw("},\"version\":").string(kVersion).raw("}");
  write_file(folder_ / "occupancy.json", json.text());
}

// Two readings of both clocks, a whole number of cycles and ticks apart.
void Writer::realtime() const {
  constexpr uint64_t ticks = kRealtimeHz / 1'000'000;  // a microsecond
  uint64_t end = 1;
  for (const TimelineWave& wave : timeline_.waves()) end = std::max(end, wave.end);
  const uint64_t microseconds = end / parameter::clock_mhz + 1;
  JsonText json;
  json.raw("{\"SE0\":[[0,0],").numbers({microseconds * parameter::clock_mhz, microseconds * ticks});
  json.raw("],\"metadata\":{\"descriptor\":\"[gfx_clock, realtime_clock]\",\"frequency\":").number(kRealtimeHz).raw("}}");
  write_file(folder_ / "realtime.json", json.text());
}

// The number of traced waves in each state, each time it changes.
void Writer::states() const {
  std::vector<std::map<uint64_t, int64_t>> changes(kStates);
  for (const TimelineWave* traced : traced_) {
    uint64_t now = traced->begin;
    for (const auto& [state, cycles] : states_of(*traced)) {
      ++changes[state][now];
      --changes[state][now += cycles];
    }
  }
  for (int state = kIdle; state < kStates; ++state) {
    std::vector<std::pair<uint64_t, int64_t>> counts;
    int64_t count = 0;
    for (const auto& [time, change] : changes[state]) {
      count += change;
      if (change != 0) counts.emplace_back(time, count);
    }
    const std::string name = "wstates" + std::to_string(state) + ".json";
    JsonText json;
    json.raw("{\"name\":").string(name).raw(",\"state\":").list(counts, [&](const auto& sample) {
      json.number(sample.second);
    });
    json.raw(",\"time\":").list(counts, [&](const auto& sample) { json.number(sample.first); }).raw("}");
    write_file(folder_ / name, json.text());
  }
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string Writer::csv() const {
  std::string text = "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\",\"Source\"\n";
  std::vector<std::pair<uint64_t, const ListedInstruction*>> by_vaddr;
  for (const auto& [address, instruction] : listing_) by_vaddr.emplace_back(address, &instruction);
  std::stable_sort(by_vaddr.begin(), by_vaddr.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->code_object, a.second->vaddr) < std::pair(b.second->code_object, b.second->vaddr);
  });
  for (const auto& [address, instruction] : by_vaddr) {
    const std::string location = std::to_string(instruction->code_object) + "," + std::to_string(instruction->vaddr) + ",";
    if (!instruction->kernel.empty())
      text += location + quoted("; " + instruction->kernel) + ",0,0,0,0," + quoted(demangled(instruction->kernel)) + "\n";
    const Sums& sums = lines_.at(address).sums;
    text += location + quoted(instruction->text);
    for (const uint64_t value : {sums.hits, sums.latency, sums.stall, sums.idle}) text += "," + std::to_string(value);
    text += "," + quoted(instruction->source) + "\n";
  }
  return text;
}

void rename_new(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw std::runtime_error("cannot write " + to.string() + ": " + error.message());
}

}  // namespace

void write_thread_trace(const fs::path& folder, const std::string& name, const ThreadTraceSubject& traced,
                        const Timeline& timeline, const Listing& listing) {
  // The trace is written under a different name first, so that no reader mistakes an unfinished trace for a complete one.
  const fs::path partial = folder / ("." + name + "." + std::to_string(getpid()) + ".partial");
  std::error_code error;
  fs::remove_all(partial, error);
  if (!fs::create_directories(partial, error))
    throw std::runtime_error("cannot write " + partial.string() + ": " + error.message());
  try {
    Writer writer(partial, traced, timeline, listing);
    writer.write_folder();
    write_file(partial / "stats.csv", writer.csv());
    rename_new(partial / "stats.csv", folder / ("stats_" + name + ".csv"));
    rename_new(partial, folder / name);
  } catch (...) {
    fs::remove_all(partial, error);
    throw;
  }
}

}  // namespace rpd
