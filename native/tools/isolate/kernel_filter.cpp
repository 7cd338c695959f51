#include "isolate/kernel_filter.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "isolate/settings.h"
#include "isolate/state.h"

namespace rpd::isolate {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 200us;
constexpr int kLooksBetweenRings = 2500;

// Returns false if no process has the bell open, which means that the process that would answer has exited.
bool ring(const std::string& folder) {
  const int bell = open((folder + "/bell").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (bell < 0) return false;
  static_cast<void>(!write(bell, "?", 1));  // if the FIFO is full, the listener has already been woken
  close(bell);
  return true;
}

bool put_question(const std::string& path, std::span<const KernelNames> kernels) {
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  for (const KernelNames& kernel : kernels) file << kernel.symbol << '\0' << kernel.demangled << '\0';
  file.close();
  return file && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

bool take_answer(const std::string& path, std::string& answer) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  answer.assign(std::istreambuf_iterator<char>(file), {});
  unlink(path.c_str());
  return true;
}

std::string asked(const std::string& folder, std::span<const KernelNames> kernels) {
  static std::atomic<unsigned> questions{0};
  const std::string name = folder + "/" + std::to_string(getpid()) + "-" + std::to_string(questions++);
  std::string answer;
  if (!put_question(name + ".question", kernels)) return answer;
  for (int looks = 0; !take_answer(name + ".answer", answer); ++looks) {
    if (looks % kLooksBetweenRings == 0 && !ring(folder)) break;
    std::this_thread::sleep_for(kLook);
  }
  return answer;
}

bool has_piece(const KernelNames& kernel, const std::string& piece) {
  return kernel.demangled.find(piece) != std::string::npos || kernel.symbol.find(piece) != std::string::npos;
}

}  // namespace

std::vector<bool> which_are_wanted(std::span<const KernelNames> kernels) {
  std::vector<bool> wanted(kernels.size());
  if (kernels.empty()) return wanted;
  if (settings().ask.empty()) {
    for (size_t i = 0; i < kernels.size(); ++i) wanted[i] = has_piece(kernels[i], settings().pattern);
    return wanted;
  }
  const std::string answer = asked(settings().ask, kernels);
  if (answer.size() != kernels.size()) report("failed", "rocm-perf, which decides which kernels to capture, has exited");
  for (size_t i = 0; i < kernels.size() && answer.size() == kernels.size(); ++i) wanted[i] = answer[i] == '1';
  return wanted;
}

}  // namespace rpd::isolate
