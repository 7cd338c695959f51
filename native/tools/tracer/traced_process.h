// The traced process as a whole: the path of its database, its description, and the writer that outlives it.
#pragma once

#include <string>

namespace rpd::tracer {

// Starts rocmperf-rocpd-writer, which waits until this process is gone and then turns its spool into the database. Must be
// called before open_spool_for: a process killed between the two would otherwise leave a spool that nobody reads. Returns false
// if the writer cannot be started.
bool start_writer();

// Creates the spool for the database that ROCM_PERF_TRACE names (`%p` is the process id), and tells the writer about it. An
// existing database is never touched: a second process with the same path writes <stem>_<pid>.db. Returns false (after a
// message on stderr) if nothing can be written there.
bool open_spool_for(const std::string& requested);

// Closes this process's end of the writer's pipe. Must be called in forked children so that they do not keep the writer
// waiting.
void forget_writer();

void record_process();

}  // namespace rpd::tracer
