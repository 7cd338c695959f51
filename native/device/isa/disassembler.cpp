#include "isa/disassembler.h"

#include <amd_comgr/amd_comgr.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rpd {

struct Disassembler::State {
  amd_comgr_disassembly_info_t info{};
};

namespace {

struct Request {
  const char* code;
  uint64_t limit;
  std::string text;
};

uint64_t read_code(uint64_t from, char* to, uint64_t size, void* user) {
  const auto* request = static_cast<const Request*>(user);
  if (from >= request->limit) return 0;
  const uint64_t available = std::min(size, request->limit - from);
  std::memcpy(to, request->code + from, available);
  return available;
}

void take_text(const char* instruction, void* user) { static_cast<Request*>(user)->text = instruction; }

void ignore_annotation(uint64_t, void*) {}

}  // namespace

Disassembler::Disassembler(const std::string& isa_name) : state_(std::make_unique<State>()) {
  if (amd_comgr_create_disassembly_info(isa_name.c_str(), read_code, take_text, ignore_annotation, &state_->info) !=
      AMD_COMGR_STATUS_SUCCESS) {
    throw std::runtime_error("libamd_comgr cannot disassemble " + isa_name);
  }
}

Disassembler::~Disassembler() { amd_comgr_destroy_disassembly_info(state_->info); }

DisassembledInstruction Disassembler::at(const void* code, uint64_t limit) const {
  Request request{static_cast<const char*>(code), limit, {}};
  uint64_t size = 0;
  if (amd_comgr_disassemble_instruction(state_->info, 0, &request, &size) != AMD_COMGR_STATUS_SUCCESS) return {};
  return {request.text, static_cast<uint32_t>(size)};
}

}  // namespace rpd
