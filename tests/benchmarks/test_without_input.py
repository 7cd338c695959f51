"""`./dev bench` runs every script without arguments, and ends at the first one that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Named in the first paragraph of benchmarks/README.md.
WITHOUT_INPUT = {
    "calibration", "fetched_bytes", "hit_rates", "language_model", "microbenchmarks", "mutants", "power", "predictions",
    "programs", "suites", "triton_tuning", "triton_tutorials", "tritonbench", "variants",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WITHOUT_INPUT))
def test_a_benchmark_without_its_input_says_so_and_succeeds(name, tmp_path):
    done = subprocess.run([sys.executable, BENCHMARKS / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) < 5
    assert not list(tmp_path.iterdir())
