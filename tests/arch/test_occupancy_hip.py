"""resident_workgroups_per_cu against the real HIP runtime, on the software gfx942."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from occupancy_kernels import compile_and_report, draw_kernels, resources
from rocm_perf_lab.arch import cdna3
from rocm_perf_lab.arch.occupancy import occupancy

KERNELS = 80
# HIP 7.2 divides the CU's LDS by what a workgroup asks for; the hardware allocates it in granules of 512 bytes.
AS_HIP = dataclasses.replace(cdna3.FAMILY.occupancy_rules, lds_granule=1)


@pytest.mark.skipif(shutil.which("hipcc") is None, reason="no hipcc")
def test_resident_workgroups_are_what_hip_returns(native_dir, rocm_perf, tmp_path):
    source, threads = draw_kernels(AS_HIP, KERNELS, "hip")
    queries = "".join(
        f"if (hipOccupancyMaxActiveBlocksPerMultiprocessor(&n, (const void*)k{number}, {size}, 0)) return 1;\n"
        'printf("%d\\n", n);\n'
        for number, size in enumerate(threads)
    )
    (tmp_path / "query.hip").write_text(f"#include <cstdio>\n{source}int main() {{ int n;\n{queries} }}\n")
    reported = compile_and_report(tmp_path / "query.hip", tmp_path / "query", ["--offload-arch=gfx942"])
    done = rocm_perf("run", "--device", "gfx942", tmp_path / "query")
    assert done.returncode == 0, done.stderr
    hip = [int(line) for line in done.stdout.split()]
    ours = [
        occupancy(AS_HIP, resources(figures, size)).resident_workgroups_per_cu
        for figures, size in zip(reported, threads, strict=True)
    ]
    assert ours == hip
    assert len(set(hip)) >= 8, "the drawn kernels must not all have the same occupancy"
