// Who wrote the trace: the machine, and a guid for the process that is the same whenever its spool is converted.
#pragma once

#include <cstdint>
#include <string>

#include "spool/format.h"

namespace rpd::rocpd {

struct Machine {
  std::string id;  // /etc/machine-id, or the host's name where there is none
  uint64_t hash;
  uint64_t node_id;  // of rocpd_info_node
};

Machine this_machine();

// UUIDv7-shaped, with the process's start in ms since boot where that has the date, as rocprofv3 does it.
std::string guid_of(const spool::Process& process, const Machine& machine);

}  // namespace rpd::rocpd
