"""A small git repository whose programs are built from one source."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import needs

_SOURCE = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = x[i];
  for (int k = 0; k < REPEATS; ++k) value = value * 1.5f + n;
  x[i] = value;
}
__global__ void offset(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main() {
  float *x;
  if (hipMalloc(&x, 4096) != hipSuccess) return 1;
  scale<<<4, 256>>>(x, 3);
  offset<<<4, 256>>>(x);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


class Checkout:
    """A git repository in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        environment = os.environ | {
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.example",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b.example",
        }  # fmt: skip
        done = subprocess.run(
            [needs.program("git"), "-C", str(self.folder), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        """Writes the files (`app_hip` is app.hip), commits them and returns the hash."""
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def source(self, repeats: int) -> str:
        return _SOURCE.replace("REPEATS", str(repeats))


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    return Checkout(tmp_path / "repository")
