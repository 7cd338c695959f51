// The traced process as a whole: where its database goes, what it is, and the writer that outlives it.
#pragma once

#include <string>

namespace rpd::tracer {

// Creates the spool for the database that ROCM_PERF_TRACE names (`%p` is the process id). A database that is there
// already is never touched: a second process with the same path writes <stem>_<pid>.db. False (after saying why on
// stderr) if nothing can be written there.
bool open_spool_for(const std::string& requested);

// Starts rocmperf-rocpd-writer, which waits until this process is gone and then turns the spool into the database.
bool start_writer();

// Closes this process's end of the writer's pipe: for forked children, which must not keep it waiting.
void forget_writer();

void record_process();

}  // namespace rpd::tracer
