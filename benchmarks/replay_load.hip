// A buffer of as many bytes as the command line says, and a kernel that changes one word of each of its pages, so many
// times. Prints the seconds of one launch with its wait, of the median launch.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr size_t kPageWords = 512;

__global__ void change_pages(unsigned long* words, size_t pages) {
  for (size_t page = blockIdx.x * size_t{blockDim.x} + threadIdx.x; page < pages; page += size_t{gridDim.x} * blockDim.x)
    words[page * kPageWords] += 1;
}

int main(int count, char** words) {
  if (count != 3) return 64;
  const size_t bytes = std::strtoull(words[1], nullptr, 10);
  const int launches = std::atoi(words[2]);
  constexpr size_t kPiece = 16 << 20;
  std::vector<unsigned long> random(kPiece / 8);
  std::mt19937_64 generator(1);
  for (unsigned long& word : random) word = generator();
  void* memory = nullptr;
  if (hipMalloc(&memory, bytes) != hipSuccess) return 1;
  auto* buffer = static_cast<unsigned long*>(memory);
  for (size_t at = 0; at < bytes; at += kPiece) {
    random[0] = at;  // no two pieces are equal
    for (size_t i = 0; i < random.size(); i += kPageWords) random[i] += at;
    if (hipMemcpy(buffer + at / 8, random.data(), std::min(kPiece, bytes - at), hipMemcpyHostToDevice) != hipSuccess) return 1;
  }
  std::vector<double> seconds;
  for (int i = 0; i < launches; ++i) {
    const auto began = std::chrono::steady_clock::now();
    change_pages<<<304, 64>>>(buffer, bytes / 4096);
    if (hipDeviceSynchronize() != hipSuccess) return 1;
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%.9f\n", seconds[seconds.size() / 2]);
}
