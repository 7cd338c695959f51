"""The commands of the user guide, executed one after the other in a copy of the testbed, on the software device."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "USER_GUIDE.md"
BLOCKS = re.findall(r"(?ms)^```sh\n(.*?)^```", GUIDE.read_text("utf-8"))
TAKES_LONG = re.compile(r"rocm-perf (gate|optimize) ")
FEWER = ("--budget 40", "--budget 1")  # evaluations of a search; resuming one is tested in tests/autotune
Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def shell(repository, native_dir, hipcc, tmp_path_factory) -> Run:
    """Runs a block in the guide's folder, where the program is already compiled; it has to succeed."""
    folder = tmp_path_factory.mktemp("guide")
    shutil.copytree(repository / "testbed", folder / "testbed")
    commands = folder / "bin"
    commands.mkdir()
    (commands / "rocm-perf").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocm_perf_lab "$@"\n')
    (commands / "rocm-perf").chmod(0o755)
    target = {"HCC_AMDGPU_TARGET": "gfx942", "ROCM_TARGET_LST": str(repository / "env" / "targets.txt")}
    environment = os.environ | target | {"PATH": f"{commands}:{os.environ['PATH']}"}

    def run(block: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-e", "-c", block]
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL
        )
        assert ran.returncode == 0, f"{block}\n{ran.stderr}"
        return ran

    assert BLOCKS[0].startswith("hipcc ")
    run(BLOCKS[0])
    return run


def test_the_commands_of_the_guide_work_in_order(shell: Run):
    told = [shell(block.replace(*FEWER)).stdout for block in BLOCKS[1:] if not TAKES_LONG.search(block)]
    assert "  Kernel  softmax_naive" in told[0] and "  Try " in told[0]
    assert "2.00x" in told[1]  # the what-if
    assert "__global__ void softmax_naive" in told[2]
    assert "identical to the captured" in told[3]
    assert "1 of 52 configurations" in told[4]


@pytest.mark.slow
def test_the_commands_that_take_longer_work_too(shell: Run):
    told = [shell(block).stdout for block in BLOCKS if TAKES_LONG.search(block)]
    assert "Accepted" in told[0] and "nothing was judged, and no result was written" in told[1]
