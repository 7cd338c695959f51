// Ends the process with one line and a documented exit code even if foreign code crashes it: the replay cannot control how
// ROCr's loader, comgr and the kernel behave with a damaged code object.
#pragma once

#include <string>

namespace rpd::replay {

// From now on, a signal that would end this process, or an exit() in foreign code, makes it print what it was doing. To be
// called once, before other threads are started.
void report_crashes();

// While this object exists, it names what the whole process is doing: "ROCr's loader". The innermost object counts.
class Doing {
 public:
  // subject: the file to blame. is_foreign: the work is done by code that may call exit() or never return; it gets one
  // minute.
  Doing(const std::string& subject, const std::string& what, int exit_code, const std::string& hint, bool is_foreign = false);
  ~Doing();
  Doing(const Doing&) = delete;

 private:
  std::string line_;  // with a gap for how the process ended
  int exit_code_;
  bool is_foreign_;
  const Doing* outer_;

  friend void end_with(const char* how);
  friend void end_at_exit();
};

}  // namespace rpd::replay
