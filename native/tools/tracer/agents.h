// The agents (CPUs and GPUs) of this process, identified by their KFD nodes.
#pragma once

#include <cstdint>
#include <string>

#include "common/hsa.h"

namespace rpd::tracer {

// Records all agents and remembers their node ids. Must be called once, from OnLoad.
void record_agents();

uint32_t node_of(hsa_agent_t agent);
uint32_t host_node();  // of the first CPU
const std::string& isa_name_of(hsa_agent_t agent);  // "gfx942"

}  // namespace rpd::tracer
