#include "capture/json.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "capture/checksum.h"

namespace rpd::capture {

using nlohmann::json;

std::string region_file(const Region& region, Phase phase) {
  char name[64];
  std::snprintf(name, sizeof name, "%s/region_%" PRIx64 "%s.bin", kMemoryFolder, region.base,
                phase == Phase::after ? ".after" : "");
  return name;
}

namespace {

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

[[noreturn]] void refuse(const std::string& why) { throw InvalidCapture(why); }

uint64_t address_of(const json& object, const char* key) {
  const std::string text = object.at(key).get<std::string>();
  char* end = nullptr;
  if (text.size() < 3 || text.size() > 18 || text.rfind("0x", 0) != 0)
    refuse(std::string(key) + " is not a hexadecimal address");
  const uint64_t value = std::strtoull(text.c_str() + 2, &end, 16);
  if (*end != '\0') refuse(std::string(key) + " is not a hexadecimal address");
  return value;
}

template <class T>
T number(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_unsigned()) refuse(std::string(key) + " is not a whole number");
  const auto wide = value.get<uint64_t>();
  if (wide > std::numeric_limits<T>::max()) refuse(std::string(key) + " is too large");
  return static_cast<T>(wide);
}

// The type is checked because null and objects can also be iterated over.
const json& list(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_array()) refuse(std::string(key) + " is not a list");
  return value;
}

std::array<uint32_t, 3> triple(const json& object, const char* key) {
  const json& list = object.at(key);
  if (!list.is_array() || list.size() != 3) refuse(std::string(key) + " is not a list of three");
  std::array<uint32_t, 3> values{};
  for (size_t i = 0; i < 3; ++i) {
    if (!list[i].is_number_unsigned() || list[i].get<uint64_t>() > UINT32_MAX) refuse(std::string(key) + " is out of range");
    values[i] = list[i].get<uint32_t>();
  }
  return values;
}

// Bytes that are not valid UTF-8 (a command's arguments can contain any bytes) become replacement characters.
std::string dump(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace); }

template <class F>
auto parsed(const std::string& text, const char* file, F read) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    refuse(std::string(file) + ": " + error.what());
  } catch (const InvalidCapture& error) {
    refuse(std::string(file) + ": " + error.what());
  }
}

json to_object(const Packet& p) {
  return {{"header", p.header},
          {"setup", p.setup},
          {"workgroup", p.workgroup},
          {"grid", p.grid},
          {"private_segment_size", p.private_bytes},
          {"group_segment_size", p.group_bytes},
          {"kernel_object", hex(p.kernel_object)},
          {"kernarg_address", hex(p.kernarg_address)}};
}

Packet packet_from(const json& object) {
  Packet packet;
  packet.header = number<uint16_t>(object, "header");
  packet.setup = number<uint16_t>(object, "setup");
  packet.workgroup = triple(object, "workgroup");
  packet.grid = triple(object, "grid");
  packet.private_bytes = number<uint32_t>(object, "private_segment_size");
  packet.group_bytes = number<uint32_t>(object, "group_segment_size");
  packet.kernel_object = address_of(object, "kernel_object");
  packet.kernarg_address = address_of(object, "kernarg_address");
  return packet;
}

// [LLVM AMDGPUUsage, "Kernel Descriptor"]. Null if the bytes are unknown.
json descriptor_fields(const std::string& hexadecimal) {
  constexpr size_t kBytes = 64;
  if (hexadecimal.size() != 2 * kBytes) return nullptr;
  const auto field = [&](size_t offset, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | std::stoul(hexadecimal.substr(2 * (offset + i), 2), nullptr, 16);
    return value;
  };
  return {{"group_segment_fixed_size", field(0, 4)},
          {"private_segment_fixed_size", field(4, 4)},
          {"kernarg_size", field(8, 4)},
          {"kernel_code_entry_byte_offset", static_cast<int64_t>(field(16, 8))},
          {"compute_pgm_rsrc3", field(44, 4)},
          {"compute_pgm_rsrc1", field(48, 4)},
          {"compute_pgm_rsrc2", field(52, 4)},
          {"kernel_code_properties", field(56, 2)},
          {"kernarg_preload", field(58, 2)}};
}

}  // namespace

std::string to_json(const Dispatch& d) {
  json variables = json::array();
  for (const Variable& v : d.variables)
    variables.push_back({{"name", v.name}, {"address", hex(v.address)}, {"bytes", v.bytes}});
  json argument_allocations = json::array();
  for (const uint64_t address : d.argument_allocations) argument_allocations.push_back(hex(address));
  const Origin& o = d.origin;
  return dump({{"schema_version", "1.0"},
               {"kernel",
                {{"name", d.kernel.name},
                 {"symbol", d.kernel.symbol},
                 {"kernarg_segment_size", d.kernel.kernarg_bytes},
                 {"group_segment_size", d.kernel.group_bytes},
                 {"private_segment_size", d.kernel.private_bytes},
                 {"descriptor", d.descriptor},
                 {"descriptor_fields", descriptor_fields(d.descriptor)}}},
               {"packet", to_object(d.packet)},
               {"argument_allocations", argument_allocations},
               {"outcome", d.completed ? "completed" : "failed"},
               {"code_object",
                {{"file", kCodeFile},
                 {"load_base", hex(d.code.load_base)},
                 {"load_bytes", d.code.load_bytes},
                 {"load_delta", d.code.load_delta},
                 {"uri", d.code.uri},
                 {"variables", variables}}},
               {"agent", {{"name", o.agent}, {"isa", o.isa}, {"product", o.product}}},
               {"origin",
                {{"device", o.device.empty() ? json() : json(o.device)},
                 {"rocm_version", o.rocm_version.empty() ? json() : json(o.rocm_version)},
                 {"runtime_version", o.runtime_version},
                 {"program", o.program},
                 {"command", o.command},
                 {"working_directory", o.working_directory},
                 {"time", o.time},
                 {"pid", o.pid},
                 {"dispatch_index", o.dispatch_index},
                 {"gpu_time_ns", o.gpu_time_ns},
                 {"timing", o.device.empty() ? "measured" : "modelled"}}},
               {"not_captured", d.not_captured},
               {"warnings", d.warnings}}) +
         "\n";
}

std::string to_json(const std::vector<Region>& regions) {
  json list = json::array();
  for (const Region& region : regions) {
    json allocations = json::array();
    for (const Allocation& a : region.allocations) allocations.push_back({{"address", hex(a.address)}, {"bytes", a.bytes}});
    list.push_back({{"base", hex(region.base)},
                    {"bytes", region.bytes},
                    {"kind", kKindNames[static_cast<size_t>(region.kind)]},
                    {"file", region_file(region, Phase::before)},
                    {"after_file", region_file(region, Phase::after)},
                    {"allocations", allocations}});
  }
  return dump({{"schema_version", "1.0"}, {"page_bytes", kPage}, {"block_bytes", kBlock}, {"regions", list}}) + "\n";
}

namespace {

json manifest_body(const Manifest& manifest) {
  json files = json::object();
  for (const auto& [name, entry] : manifest) {
    files[name] = {{"bytes", entry.bytes}};
    if (!entry.checksum.empty()) files[name]["xxh3_128"] = entry.checksum;
  }
  return {{"format", kFormatName}, {"version", kFormatVersion}, {"files", files}};
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  json body = manifest_body(manifest);
  body["checksum"] = text_checksum(body.dump());
  return dump(body) + "\n";
}

Dispatch dispatch_from_json(const std::string& text) {
  return parsed(text, kDispatchFile, [](const json& root) {
    Dispatch d;
    const json& kernel = root.at("kernel");
    d.kernel.name = kernel.at("name").get<std::string>();
    d.kernel.symbol = kernel.at("symbol").get<std::string>();
    d.kernel.kernarg_bytes = number<uint32_t>(kernel, "kernarg_segment_size");
    d.kernel.group_bytes = number<uint32_t>(kernel, "group_segment_size");
    d.kernel.private_bytes = number<uint32_t>(kernel, "private_segment_size");
    d.descriptor = kernel.at("descriptor").get<std::string>();
    d.packet = packet_from(root.at("packet"));
    const std::string outcome = root.at("outcome").get<std::string>();
    if (outcome != "completed" && outcome != "failed") refuse("unknown outcome " + outcome);
    d.completed = outcome == "completed";
    const json& code = root.at("code_object");
    d.code.load_base = address_of(code, "load_base");
    d.code.load_bytes = number<uint64_t>(code, "load_bytes");
    d.code.load_delta = code.at("load_delta").get<int64_t>();
    d.code.uri = code.at("uri").get<std::string>();
    for (const json& v : list(code, "variables"))
      d.variables.push_back({v.at("name").get<std::string>(), address_of(v, "address"), number<uint64_t>(v, "bytes")});
    const json& agent = root.at("agent");
    d.origin.agent = agent.at("name").get<std::string>();
    d.origin.isa = agent.at("isa").get<std::string>();
    d.origin.product = agent.at("product").get<std::string>();
    const json& origin = root.at("origin");
    d.origin.device = origin.at("device").is_null() ? "" : origin.at("device").get<std::string>();
    d.origin.rocm_version = origin.at("rocm_version").is_null() ? "" : origin.at("rocm_version").get<std::string>();
    d.origin.program = origin.at("program").get<std::string>();
    d.origin.time = origin.at("time").get<std::string>();
    d.origin.dispatch_index = number<uint64_t>(origin, "dispatch_index");
    d.origin.gpu_time_ns = number<uint64_t>(origin, "gpu_time_ns");
    d.not_captured = root.at("not_captured").get<std::vector<std::string>>();
    d.warnings = root.at("warnings").get<std::vector<std::string>>();
    return d;
  });
}

std::vector<Region> regions_from_json(const std::string& text) {
  return parsed(text, kRegionsFile, [](const json& root) {
    if (number<uint64_t>(root, "page_bytes") != kPage || number<uint64_t>(root, "block_bytes") != kBlock)
      refuse("its page or block size differs from this version's");
    std::vector<Region> regions;
    for (const json& object : list(root, "regions")) {
      Region region;
      region.base = address_of(object, "base");
      region.bytes = number<uint64_t>(object, "bytes");
      const std::string kind = object.at("kind").get<std::string>();
      size_t which = 0;
      while (which < kKindNames.size() && kind != kKindNames[which]) ++which;
      if (which == kKindNames.size()) refuse("unknown kind of memory " + kind);
      region.kind = static_cast<Kind>(which);
      // These file names are only for human readers; the names of the files to open are derived from the region's address.
      if (object.at("file").get<std::string>() != region_file(region, Phase::before) ||
          object.at("after_file").get<std::string>() != region_file(region, Phase::after))
        refuse("the file of the region at " + hex(region.base) + " is not " + region_file(region, Phase::before));
      for (const json& a : list(object, "allocations"))
        region.allocations.push_back({address_of(a, "address"), number<uint64_t>(a, "bytes")});
      regions.push_back(std::move(region));
    }
    return regions;
  });
}

Manifest manifest_from_json(const std::string& text) {
  return parsed(text, kManifestFile, [](const json& root) {
    if (root.at("format").get<std::string>() != kFormatName) refuse("not a capture's manifest");
    if (number<uint64_t>(root, "version") != kFormatVersion)
      refuse("format version " + std::to_string(number<uint64_t>(root, "version")) + "; this is version " +
             std::to_string(kFormatVersion));
    Manifest manifest;
    if (!root.at("files").is_object()) refuse("files is not an object");
    for (const auto& [name, entry] : root.at("files").items()) {
      FileEntry file{number<uint64_t>(entry, "bytes"),
                     entry.contains("xxh3_128") ? entry.at("xxh3_128").get<std::string>() : ""};
      manifest.emplace(name, std::move(file));
    }
    json body = root;
    body.erase("checksum");
    if (root.at("checksum").get<std::string>() != text_checksum(body.dump())) refuse("its checksum is wrong");
    return manifest;
  });
}

}  // namespace rpd::capture
