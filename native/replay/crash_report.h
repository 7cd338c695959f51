// Ends the process with one line and a documented exit code even if foreign code crashes it: the replay has no control over how
// ROCr's loader, comgr and the kernel react to a damaged code object.
#pragma once

#include <string>

namespace rpd::replay {

// From now on, a signal that would end this process, or a call to exit() in foreign code, makes the process print what it was
// doing. To be called once, before any other threads are started.
void report_crashes();

// While this object exists, it names what the whole process is doing, for example "ROCr's loader". If several exist, the
// innermost one counts.
class CurrentActivity {
 public:
  // subject: the file to blame. is_foreign: the work is done by code that may call exit() or never return; such code is given
  // one minute.
  CurrentActivity(const std::string& subject, const std::string& activity, int exit_code, const std::string& hint,
                  bool is_foreign = false);
  ~CurrentActivity();
  CurrentActivity(const CurrentActivity&) = delete;

 private:
  std::string line_;  // with a gap for how the process ended
  int exit_code_;
  bool is_foreign_;
  const CurrentActivity* outer_;

  friend void end_with(const char* how);
  friend void end_at_exit();
};

}  // namespace rpd::replay
