#include "runtime/hooks/host_threads.h"

#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace rpd::host_threads {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenWaits = std::chrono::milliseconds(100);

struct ThreadRecords {
  std::mutex mutex;
  std::set<pid_t> of_runtime;
  std::map<pid_t, Clock::time_point> waiting;  // until when
  std::map<pid_t, uint64_t> ticks;  // of each thread at the last check
  uint64_t sum = 0;
};

ThreadRecords& thread_records() {
  static auto* all = new ThreadRecords;  // threads outlive static destructors
  return *all;
}

// The sum of a thread's user and system time, the 14th and 15th fields of its stat file; 0 if the thread has ended. Parsing
// starts after the name, which may contain any character.
uint64_t ticks_of(pid_t thread) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  std::FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  const size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  unsigned long user = 0, system = 0;
  if (rest) std::sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return user + system;
}

template <class F>
void for_each_thread(F f) {
  DIR* folder = opendir("/proc/self/task");
  if (!folder) return;
  while (const dirent* entry = readdir(folder))
    if (const int thread = std::atoi(entry->d_name)) f(thread);
  closedir(folder);
}

}  // namespace

void mark_as_runtime_thread() {
  thread_local bool said = false;
  if (said) return;
  said = true;
  const std::lock_guard lock(thread_records().mutex);
  thread_records().of_runtime.insert(gettid());
}

WaitScope::WaitScope(bool counts) : counts_(counts) {
  if (!counts_) return;
  const std::lock_guard lock(thread_records().mutex);
  thread_records().waiting[gettid()] = Clock::time_point::max();
}

WaitScope::~WaitScope() {
  if (!counts_) return;
  const std::lock_guard lock(thread_records().mutex);
  thread_records().waiting[gettid()] = Clock::now() + kBetweenWaits;
}

bool is_any_waiting() {
  const std::lock_guard lock(thread_records().mutex);
  std::erase_if(thread_records().waiting, [now = Clock::now()](const auto& wait) { return wait.second < now; });
  return !thread_records().waiting.empty();
}

uint64_t busy_ticks() {
  const std::lock_guard lock(thread_records().mutex);
  for_each_thread([](pid_t thread) {
    const uint64_t now = ticks_of(thread);
    uint64_t& before = thread_records().ticks[thread];
    if (!thread_records().of_runtime.contains(thread) && !thread_records().waiting.contains(thread))
      thread_records().sum += now - (now < before ? now : before);
    before = now;
  });
  return thread_records().sum;
}

}  // namespace rpd::host_threads
