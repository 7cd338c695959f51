"""A failing kernel can be captured too, and fails again in the same way; the program sees the same as without a capture."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError, UsageError
from rocm_perf_lab.isolate import Capture, newest
from rocm_perf_lab.replaying import replay

FAULTS = Path(__file__).parents[1] / "programs" / "faults.hip"


@pytest.mark.parametrize(
    "case, kernel, why",
    [("out_of_bounds", "store_behind", "faulted at address 0x"), ("trap", "trap", "HSA_STATUS_ERROR_EXCEPTION")],
)
def test_a_kernel_that_fails(compiled, native_dir, tmp_path, case, kernel, why):
    program = compiled(FAULTS)
    device = devices.select("gfx942", tmp_path)
    outcomes = []
    for tools in ((), (native_dir / "lib" / "librocmperf_isolate.so",)):
        environment = device.environment(os.environ, tools) | {"ISOLATE_KERNEL": kernel}
        done = subprocess.run([program, case], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        # hipGetLastError reports the launch or the kernel, whichever was faster.
        outcomes.append((done.returncode, done.stdout.split()[0], done.stdout.split()[-1]))
    assert outcomes[0] == outcomes[1]
    capture = Capture.open(newest(tmp_path), every_byte=True)
    assert capture.dispatch["outcome"] == "failed" and capture.changed_bytes == 0
    with pytest.raises(ReplayFailedError, match=why):
        replay(capture, iterations=1, device="gfx942")
    with pytest.raises(UsageError, match="failed when it was captured"):
        replay(capture, compare=True, device="gfx942")
