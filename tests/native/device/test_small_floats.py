"""HIP programs with 8-bit floats."""

from __future__ import annotations

from pathlib import Path

from hip_compiler import compile_hip


def test_the_headers_floats_are_the_same_on_device_and_host(rocm_perf, repository: Path, tmp_path: Path) -> None:
    program = tmp_path / "small_floats"
    source = repository / "tests" / "programs" / "small_floats.hip"
    compile_hip("-O2", "--offload-arch=gfx942", "-w", "-o", program, source)
    done = rocm_perf("run", program)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr
