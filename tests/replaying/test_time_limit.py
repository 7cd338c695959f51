"""The limit of a replay is in real seconds, also on the software device, which is far slower than the hardware it models."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from hip_compiler import compile_hip

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void spin(int* out, int rounds) {
  __shared__ int sums[256];
  for (int i = 0; i < rounds; ++i) {
    sums[threadIdx.x] += i;
    __syncthreads();
  }
  out[threadIdx.x] = sums[threadIdx.x];
}
int main() {
  int* out;
  (void)hipMalloc(&out, 4096);
  spin<<<1, 256>>>(out, 5000000);
  return hipDeviceSynchronize();
}
"""
PERF = [sys.executable, "-m", "rocm_perf_lab"]


def test_a_replay_ends_at_its_limit(tmp_path: Path, native_dir: Path) -> None:
    source, program = tmp_path / "spin.hip", tmp_path / "spin"
    source.write_text(SOURCE)
    compile_hip("--offload-arch=gfx942", "-O2", source, "-o", program)
    isolate = [*PERF, "isolate", "--kernel", "spin", "--output", tmp_path, program]
    began = time.monotonic()
    subprocess.run(isolate, check=True, capture_output=True, timeout=300)
    whole = time.monotonic() - began
    replay = [*PERF, "replay", "full-vm", "--capture-dir", tmp_path / "isolate_capture", "--timeout", "1"]
    began = time.monotonic()
    completed = subprocess.run(replay, capture_output=True, text=True, timeout=300)
    assert "did not end within 1 seconds" in completed.stderr, completed.stdout + completed.stderr
    assert time.monotonic() - began < whole
