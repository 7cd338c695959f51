"""RCCL, where it is installed: the library's own kernels on several devices, which wait for each other and copy as they go."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab import rocm
from rocm_perf_lab.collect import device as devices

pytestmark = [pytest.mark.slow, pytest.mark.skipif(rocm.find_library("librccl.so") is None, reason="no librccl")]


def test_an_all_reduce_over_two_devices(native_dir: Path, repository: Path, tmp_path: Path, hipcc: str) -> None:
    program = tmp_path / "all_reduce"
    source, library = repository / "tests" / "programs" / "all_reduce.hip", rocm.find_library("librccl.so")
    assert library is not None
    # An RCCL that was only unpacked somewhere and is named in LD_LIBRARY_PATH has its headers beside the library.
    headers = [f"-I{folder / 'include'}" for folder in library.parents if (folder / "include" / "rccl").is_dir()]
    command = ["hipcc", "--offload-arch=gfx942", "-O2", *headers, source, "-o", program, f"-L{library.parent}", "-lrccl"]
    subprocess.run([*command, f"-Wl,-rpath-link,{library.parent}"], check=True, capture_output=True)
    device = devices.select("gfx942:2", tmp_path, [devices.NO_OBSERVATION], several=True)
    done = subprocess.run([program], env=device.environment(os.environ), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "2 devices, wrong 0\n" in done.stdout, done.stdout + done.stderr
