#include "isa/code_object.h"

#include <amd_comgr/amd_comgr.h>

#include <algorithm>
#include <stdexcept>

namespace rpd {

struct CodeObject::State {
  amd_comgr_data_t data{};
  amd_comgr_symbolizer_info_t symbolizer{};
  bool symbolizes = false;

  ~State() {
    if (symbolizes) amd_comgr_destroy_symbolizer_info(symbolizer);
    if (data.handle) amd_comgr_release_data(data);
  }
};

namespace {

template <class T>
T info(amd_comgr_symbol_t symbol, amd_comgr_symbol_info_t attribute) {
  T value{};
  amd_comgr_symbol_get_info(symbol, attribute, &value);
  return value;
}

amd_comgr_status_t take_function(amd_comgr_symbol_t symbol, void* user) {
  if (info<amd_comgr_symbol_type_t>(symbol, AMD_COMGR_SYMBOL_INFO_TYPE) != AMD_COMGR_SYMBOL_TYPE_FUNC)
    return AMD_COMGR_STATUS_SUCCESS;
  // The length does not include the terminating zero.
  std::string name(info<uint64_t>(symbol, AMD_COMGR_SYMBOL_INFO_NAME_LENGTH) + 1, '\0');
  amd_comgr_symbol_get_info(symbol, AMD_COMGR_SYMBOL_INFO_NAME, name.data());
  name.resize(name.find('\0'));
  auto& functions = *static_cast<std::vector<Function>*>(user);
  functions.push_back({std::move(name), info<uint64_t>(symbol, AMD_COMGR_SYMBOL_INFO_VALUE),
                       info<uint64_t>(symbol, AMD_COMGR_SYMBOL_INFO_SIZE)});
  return AMD_COMGR_STATUS_SUCCESS;
}

// A kernel has a descriptor with the same name and ".kd" appended.
amd_comgr_status_t mark_kernel(amd_comgr_symbol_t symbol, void* user) {
  std::string name(info<uint64_t>(symbol, AMD_COMGR_SYMBOL_INFO_NAME_LENGTH) + 1, '\0');
  amd_comgr_symbol_get_info(symbol, AMD_COMGR_SYMBOL_INFO_NAME, name.data());
  name.resize(name.find('\0'));
  if (!name.ends_with(".kd")) return AMD_COMGR_STATUS_SUCCESS;
  name.resize(name.size() - 3);
  for (Function& function : *static_cast<std::vector<Function>*>(user)) function.is_kernel |= function.symbol == name;
  return AMD_COMGR_STATUS_SUCCESS;
}

void take_text(const char* text, void* user) { *static_cast<std::string*>(user) = text ? text : ""; }

// "file:line" from "file:line:column"; empty for an unknown location ("??:0:0").
std::string source_location(std::string location) {
  location.resize(std::min(location.size(), location.rfind(':')));
  const size_t colon = location.rfind(':');
  if (colon == std::string::npos || location.starts_with("??") || location.substr(colon) == ":0") return "";
  return location;
}

}  // namespace

std::string source_from_symbolizer(const std::string& text) {
  constexpr std::string_view separator = " at ";
  std::string source;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t position = line.find(separator);
    if (position == std::string::npos) continue;
    const std::string location = source_location(line.substr(position + separator.size()));
    if (!location.empty()) source += (source.empty() ? "" : " -> ") + location;
  }
  return source;
}

CodeObject::CodeObject(std::span<const char> elf) : state_(std::make_unique<State>()) {
  if (amd_comgr_create_data(AMD_COMGR_DATA_KIND_EXECUTABLE, &state_->data) != AMD_COMGR_STATUS_SUCCESS ||
      amd_comgr_set_data(state_->data, elf.size(), elf.data()) != AMD_COMGR_STATUS_SUCCESS ||
      amd_comgr_iterate_symbols(state_->data, take_function, &functions_) != AMD_COMGR_STATUS_SUCCESS) {
    throw std::runtime_error("libamd_comgr cannot read a code object");
  }
  amd_comgr_iterate_symbols(state_->data, mark_kernel, &functions_);
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) { return a.address < b.address; });
  state_->symbolizes =
      amd_comgr_create_symbolizer_info(state_->data, take_text, &state_->symbolizer) == AMD_COMGR_STATUS_SUCCESS;
}

CodeObject::~CodeObject() = default;

const Function* CodeObject::function_at(uint64_t address) const {
  const auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                                     [](uint64_t value, const Function& function) { return value < function.address; });
  if (next == functions_.begin()) return nullptr;
  const Function& function = *std::prev(next);
  return address - function.address < function.size ? &function : nullptr;
}

std::string CodeObject::source_of(uint64_t address) const {
  std::string text;
  if (!state_->symbolizes || amd_comgr_symbolize(state_->symbolizer, address, true, &text) != AMD_COMGR_STATUS_SUCCESS)
    return "";
  return source_from_symbolizer(text);
}

}  // namespace rpd
