// A write beyond RLIMIT_FSIZE raises SIGXFSZ in the writing thread, which would end the program. While the signal is blocked,
// the write fails with EFBIG like any other error; the pending signal is then discarded.
#pragma once

#include <csignal>
#include <ctime>

namespace rpd::isolate {

class FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~FileSizeSignalBlocked() {
    if (sigismember(&before_, SIGXFSZ)) return;
    const timespec at_once{};
    while (sigtimedwait(&signals_, nullptr, &at_once) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace rpd::isolate
