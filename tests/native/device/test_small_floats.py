"""HIP programs with 8-bit floats."""

from __future__ import annotations

import subprocess
from pathlib import Path


def test_the_headers_floats_are_the_same_on_device_and_host(rocm_perf, repository: Path, tmp_path: Path, hipcc: str) -> None:
    program = tmp_path / "small_floats"
    source = repository / "tests" / "programs" / "small_floats.hip"
    subprocess.run([hipcc, "-O2", "--offload-arch=gfx942", "-w", "-o", program, source], check=True)
    done = rocm_perf("run", program)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr
