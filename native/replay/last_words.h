// One line and a documented exit code, even if this process dies of code that is not its own: what ROCr's loader, comgr and
// the kernel make of a damaged code object is not in its hands.
#pragma once

#include <string>

namespace rpd::replay {

// From now on a signal that would end this process has it say what was going on. Once, before other threads are started.
void have_last_words();

// What is going on while this lives, on all threads: "ROCr's loader". The innermost counts.
class Doing {
 public:
  // subject: the file that is to blame. is_foreign: it is done by code that may call exit(), or never come back: a minute is
  // enough for it.
  Doing(const std::string& subject, const std::string& what, int exit_code, const std::string& hint, bool is_foreign = false);
  ~Doing();
  Doing(const Doing&) = delete;

 private:
  std::string line_;  // with a gap for the signal's name
  int exit_code_;
  bool is_foreign_;
  const Doing* outer_;

  friend void end_with(const char* how);
  friend void end_at_exit();
};

}  // namespace rpd::replay
