"""Every dispatch of every testbed program, each captured in a separate run and replayed in another process."""

from __future__ import annotations

import re

import pytest

from rocm_perf_lab.errors import NoCaptureError
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.replaying import replay

PROGRAMS = {
    "attention": ["--length", "37", "--dim", "20"],
    "copies": ["--max-bytes", "300"],
    "gemm": ["-n", "48"],
    "histogram": ["-n", "20001", "--skew", "30"],
    "pipeline": ["-n", "3001", "-c", "2"],
    "pointer_chase": ["--bytes", "8192", "--hops", "100"],
    "reduction": ["-n", "20001"],
    "softmax_testbed": ["--rows", "70", "--cols", "33"],
    "stencil": ["-n", "17"],
    "vcopy": ["-n", "10001", "-i", "2"],
}
MAX_DISPATCHES = 40  # dispatches per program; if there are more, evenly spaced ones are used


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_dispatch_is_replayed_exactly(testbed, tmp_path, program):
    words = [str(testbed(program)), *PROGRAMS[program]]
    with pytest.raises(NoCaptureError) as failure:
        capture(words, ".", 10**9, tmp_path, device="gfx942")
    count = int(re.search(r"only (\d+) dispatches", str(failure.value))[1])
    assert count > 0
    kernels = set()
    for index in sorted({count * step // min(count, MAX_DISPATCHES) for step in range(min(count, MAX_DISPATCHES))}):
        case = capture(words, ".", index, tmp_path, device="gfx942")
        result = replay(case, iterations=2, compare=True, device="gfx942")
        assert result.equal, (index, case.kernel, result.differing_regions)
        kernels.add(case.kernel)
    assert kernels
