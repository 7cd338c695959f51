// A trace as the tables of a rocpd database.
#pragma once

#include <cstdint>
#include <string>

#include "rocpd/trace.h"

namespace rpd::rocpd {

// Creates the database at `path` (which must not exist) in one transaction. `end_ns` is when the process ended.
// Throws DatabaseError or SpoolError.
void write_database(const Trace& trace, uint64_t end_ns, const std::string& path);

}  // namespace rpd::rocpd
