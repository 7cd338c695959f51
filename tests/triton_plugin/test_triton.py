"""Triton from the package index on the software device: the guide's example, and what needs Triton itself.

A Python with Triton and PyTorch, which no test installs, is named by RPL_TRITON_PYTHON.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]

HERE = Path(__file__).parent
GUIDE = (HERE.parents[1] / "docs" / "guide" / "triton.md").read_text("utf-8")


def test_the_example_of_the_guide_names_the_line_to_change(python: Path, rocm_perf, tmp_path: Path):
    (example,) = re.findall(r"(?ms)^```python\n(.*?)^```", GUIDE)
    (tmp_path / "softmax.py").write_text(example)
    ran = rocm_perf("profile", python, "softmax.py")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"Kernel  softmax, 100\.0 %", ran.stdout)
    line = re.search(r"softmax\.py:(\d+): waves wait", ran.stdout)
    assert "tl.load" in example.splitlines()[int(line[1]) - 1]


def test_what_works_without_pytorch(python: Path, rocm_perf):
    ran = rocm_perf("run", python, HERE / "without_torch.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["autotune", "benchmark", "warm-up", "descriptor", "dlpack"]


def test_configurations_of_a_function_are_told_apart(python: Path, rocm_perf, tmp_path: Path):
    ran = rocm_perf("profile", "--no-deep-analysis", python, HERE / "without_torch.py")
    assert ran.returncode == 0, ran.stderr
    table = parquet.read_table(tmp_path / "without_torch.py.rocm-perf" / "dispatches.parquet")
    tuned = {name for name in table.column("name").to_pylist() if name.startswith("accumulate")}
    assert tuned == {"accumulate__BLOCK_64__num_warps_1", "accumulate__BLOCK_1024__num_warps_4"}


def test_what_works_with_pytorch(rocm_perf):
    named = os.environ.get("RPL_TRITON_PYTHON") or pytest.skip("RPL_TRITON_PYTHON names no Python with Triton and PyTorch")
    ran = rocm_perf("run", named, HERE / "with_torch.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["devices", "copies", "modules", "gradients", "pointers", "events"]
