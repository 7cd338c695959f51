// The origin of a trace: the machine, and a guid for the process that is the same every time its spool is converted.
#pragma once

#include <cstdint>
#include <string>

#include "spool/format.h"

namespace rpd::rocpd {

struct Machine {
  std::string id;  // from /etc/machine-id, or the host name if that file does not exist
  uint64_t hash;
  uint64_t node_id;  // the id in rocpd_info_node
};

Machine this_machine();

// A guid in the form of a UUIDv7 that, as in rocprofv3, contains the process's start time in ms since boot instead of the date.
std::string guid_of(const spool::Process& process, const Machine& machine);

}  // namespace rpd::rocpd
