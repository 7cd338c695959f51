// Writes a trace as the tables of a rocpd database.
#pragma once

#include <cstdint>
#include <string>

#include "rocpd/trace_metadata.h"

namespace rpd::rocpd {

// Fills the database at `path` (an empty file) in one transaction. `metadata` must have been read from `spool`; `end_ns` is
// when the process ended. Throws DatabaseError or SpoolError.
void write_database(const SpoolReader& spool, const TraceMetadata& metadata, uint64_t end_ns, const std::string& path);

}  // namespace rpd::rocpd
