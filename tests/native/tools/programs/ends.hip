// Launches argv[2] kernels, waits for them, and ends in the way that argv[1] names.
#include <hip/hip_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

__global__ void add_one(int* value) { *value += 1; }

static void launch(int* value, int count) {
  for (int i = 0; i < count; ++i) add_one<<<1, 1>>>(value);
}

// Waits for all of its children, as a program does that has started every one of them itself.
static void fork_and_wait_for_all() {
  if (fork() == 0) _exit(0);
  while (wait(nullptr) > 0) {
  }
}

int main(int argc, char** argv) {
  const char* const end = argv[1];
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  int* value;
  if (hipMalloc(&value, sizeof *value) != hipSuccess) return 1;
  if (hipMemset(value, 0, sizeof *value) != hipSuccess) return 1;
  launch(value, count);
  if (std::strcmp(end, "unsynchronized") == 0) std::exit(0);
  if (hipDeviceSynchronize() != hipSuccess) return 1;

  if (std::strcmp(end, "exit") == 0) std::exit(3);
  if (std::strcmp(end, "abort") == 0) std::abort();
  if (std::strcmp(end, "_exit") == 0) _exit(4);
  if (std::strcmp(end, "kill") == 0) kill(getpid(), SIGKILL);
  if (std::strcmp(end, "segfault") == 0) *static_cast<volatile int*>(nullptr) = 1;
  if (std::strcmp(end, "wait") == 0) fork_and_wait_for_all();
  // A child that outlives its parent, holding every descriptor that it inherited.
  if (std::strcmp(end, "fork") == 0 && fork() == 0) {
    close(STDOUT_FILENO);  // or the reader of the parent's output would wait for it
    sleep(30);
    _exit(0);
  }
  // Another program that is traced, too, with this one's environment.
  if (std::strcmp(end, "spawn") == 0) return std::system((std::string(argv[0]) + " return 2").c_str());
  return 0;
}
