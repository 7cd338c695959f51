#include "timing/thread_trace/causes_file.h"

#include <fstream>
#include <stdexcept>

#include "timing/thread_trace/json_text.h"

namespace rpd {
namespace {

void add_instruction(JsonText& json, const CauseTimes::InstructionTime& instruction, const Listing& listing) {
  const auto listed = listing.find(instruction.op->address);
  const ListedInstruction& text_and_source = listed == listing.end() ? ListedInstruction{} : listed->second;
  json.raw("{\"text\":").string(text_and_source.text).raw(",\"source\":").string(text_and_source.source);
  json.raw(",\"code_object\":").number(text_and_source.code_object).raw(",\"vaddr\":").number(text_and_source.vaddr);
  json.raw(",\"without_ns\":").number(instruction.without_ns).raw("}");
}

void add_line(JsonText& json, const CauseTimes::LineTime& line) {
  json.raw("{\"source\":").string(line.source).raw(",\"without_ns\":").number(line.without_ns).raw(",\"without_cause_ns\":{");
  bool first = true;
  for (const auto& [cause, ns] : line.without_cause_ns) {
    json.raw(first ? "" : ",").string(kCauseNames[static_cast<size_t>(cause)]).raw(":").number(ns);
    first = false;
  }
  json.raw("}}");
}

std::string text_of(const CauseTimes& times, const Listing& listing) {
  JsonText json;
  json.raw("{\"version\":1,\"duration_ns\":").number(times.duration_ns);
  json.raw(",\"without_all_ns\":").number(times.without_all_ns).raw(",\"causes\":{");
  for (size_t i = 0; i < kCauses; ++i) {
    json.raw(i ? "," : "").string(kCauseNames[i]).raw(":{\"without_ns\":").number(times.without_ns[i]);
    json.raw(",\"only_ns\":").number(times.only_ns[i]).raw("}");
  }
  json.raw("},\"chosen\":").list(times.chosen, [&](Cause cause) { json.string(kCauseNames[static_cast<size_t>(cause)]); });
  json.raw(",\"subset_ns\":").list(times.subset_ns, [&](uint64_t ns) { json.number(ns); });
  json.raw(",\"instructions\":").list(times.instructions, [&](const auto& instruction) {
    add_instruction(json, instruction, listing);
  });
  json.raw(",\"lines\":").list(times.lines, [&](const auto& line) { add_line(json, line); });
  json.raw("}\n");
  return json.text();
}

}  // namespace

void write_causes(const std::filesystem::path& folder, const CauseTimes& times, const Listing& listing) {
  std::filesystem::path part = folder / "causes.json.part";
  std::ofstream file(part, std::ios::binary);
  file << text_of(times, listing);
  file.close();
  if (!file) throw std::runtime_error("cannot write " + part.string());
  std::filesystem::rename(part, folder / "causes.json");
}

}  // namespace rpd
