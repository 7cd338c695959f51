// The traced process as a whole: where its database goes, what it is, and the writer that outlives it.
#pragma once

#include <string>

namespace rpd::tracer {

// Starts rocmperf-rocpd-writer, which waits until this process is gone and then turns its spool into the database. First
// of all, because a process that is killed between the two would leave a spool that nobody reads.
bool start_writer();

// Creates the spool for the database that ROCM_PERF_TRACE names (`%p` is the process id), and tells the writer. A
// database that is there already is never touched: a second process with the same path writes <stem>_<pid>.db. False
// (after saying why on stderr) if nothing can be written there.
bool open_spool_for(const std::string& requested);

// Closes this process's end of the writer's pipe: for forked children, which must not keep it waiting.
void forget_writer();

void record_process();

}  // namespace rpd::tracer
