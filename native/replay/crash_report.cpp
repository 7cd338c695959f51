#include "replay/crash_report.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace rpd::replay {
namespace {

constexpr unsigned kPatienceSeconds = 60;
constexpr size_t kStackBytes = 64 << 10;  // the handler's own stack, in case the normal one has overflowed

std::atomic<const CurrentActivity*> current_activity{nullptr};

struct Death {
  int signal;
  const char* how;
};
constexpr Death kDeaths[] = {{SIGSEGV, "died of SIGSEGV"}, {SIGBUS, "died of SIGBUS"}, {SIGABRT, "gave up (SIGABRT)"},
                             {SIGILL, "died of SIGILL"},   {SIGFPE, "died of SIGFPE"}, {SIGALRM, "did not come to an end"}};

}  // namespace

// Prints the line of the innermost CurrentActivity and ends the process; returns if there is none. Does only what is allowed in
// a signal handler.
void end_with(const char* how) {
  const CurrentActivity* now = current_activity.load();
  if (now == nullptr) return;
  const std::string& line = now->line_;
  const size_t gap = line.find('\n');
  for (const auto& [text, size] :
       {std::pair{line.data(), gap}, {how, std::strlen(how)}, {line.data() + gap + 1, line.size() - gap - 1}})
    static_cast<void>(!write(STDERR_FILENO, text, size));
  _exit(now->exit_code_);
}

void end_at_exit() {
  if (const CurrentActivity* now = current_activity.load(); now != nullptr && now->is_foreign_) end_with("ended the process");
}

namespace {

void on_signal(int number) {
  for (const Death& death : kDeaths)
    if (death.signal == number) end_with(death.how);
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void report_crashes() {
  static std::array<char, kStackBytes> room;
  const stack_t stack{.ss_sp = room.data(), .ss_flags = 0, .ss_size = room.size()};
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const Death& death : kDeaths) sigaction(death.signal, &action, nullptr);
  std::atexit(end_at_exit);
}

CurrentActivity::CurrentActivity(const std::string& subject, const std::string& activity, int exit_code,
                                 const std::string& hint, bool is_foreign)
    : exit_code_(exit_code), is_foreign_(is_foreign), outer_(current_activity.load()) {
  for (const char c : "rocm-perf: error: " + subject + ": " + activity + " ")
    line_ += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  line_ += "\n; " + hint + "\n";
  current_activity.store(this);
  if (!is_foreign_) return;
  alarm(kPatienceSeconds);
}

CurrentActivity::~CurrentActivity() {
  current_activity.store(outer_);
  if (is_foreign_) alarm(0);
}

}  // namespace rpd::replay
