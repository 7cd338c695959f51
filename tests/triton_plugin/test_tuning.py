"""`rocm-perf autotune --triton` with Triton from the package index."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]

SCRIPT = Path(__file__).parent / "tuned.py"
MATMUL = Path(__file__).parents[2] / "testbed" / "matmul.py"


def test_a_function_is_tuned_for_all_its_sizes(python: Path, rocm_perf, tmp_path: Path):
    tune = ("autotune", "--triton", f"{SCRIPT}::accumulate", "--python", python, "--json", "--write-triton", "best.py")
    ran = rocm_perf(*tune)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert [size["key"] for size in found["sizes"]] == [{"n": 1000}, {"n": 5001}] and found["exit_status"] == 0
    for size in found["sizes"]:
        search = size["search"]
        status = {one["configuration"]["BLOCK"]: one["status"] for one in search["evaluations"]}
        assert status == {64: "ok", 256: "ok", 1024: "ok", 128: "wrong-output"} and search["unlaunchable"] == 1
        assert search["best"]["modelled"] and search["best"]["resources"]["programs"] > 0
    assert "best.py" not in ran.stdout and "CONFIGS = [" in (tmp_path / "best.py").read_text()
    again = json.loads(rocm_perf(*tune).stdout)
    assert [size["search"]["reused"] for size in again["sizes"]] == [4, 4]
    assert [size["search"]["best"]["ms"] for size in again["sizes"]] == [
        size["search"]["best"]["ms"] for size in found["sizes"]
    ]


def test_a_grid_that_does_not_depend_on_the_block_gives_wrong_results(python: Path, rocm_perf, tmp_path: Path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"BLOCK": [64, 256, 512], "num_warps": [1, 2]}}))
    words = ("--triton", f"{SCRIPT}::scale", "--space", "space.json", "--key", "n", "--python", python, "--no-cache")
    ran = rocm_perf("autotune", *words, "--json", "--", "7")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert [size["key"] for size in found["sizes"]] == [{"n": 1000}, {"n": 5001}] and found["exit_status"] == 7
    assert re.search("the script ended with status 7: .*what the script prints", ran.stderr, re.DOTALL)
    for size in found["sizes"]:
        evaluations = size["search"]["evaluations"]
        status = {(one["configuration"]["BLOCK"], one["status"]) for one in evaluations}
        assert status == {(64, "wrong-output"), (256, "ok"), (512, "ok")} and len(evaluations) == 6


def test_modelled_times_equal_those_of_the_scripts_own_autotuning(python: Path, rocm_perf):
    """Also in processes that compiled or ran other configurations before."""
    script = "import sys; sys.argv = ['m', '96']; sys.path.insert(0, {!r}); import matmul; matmul.main()\n"
    script += "print([[*c.all_kwargs().items(), t[0]] for c, t in matmul.matmul.configs_timings.items()])"
    ran = rocm_perf("run", python, "-c", script.format(str(MATMUL.parent)))
    assert ran.returncode == 0, ran.stderr
    own = {tuple(sorted(row[:-1])): row[-1] for row in eval(ran.stdout.splitlines()[-1])}
    ran = rocm_perf("autotune", "--triton", f"{MATMUL}::matmul", "--python", python, "--no-cache", "--json", "--", "96")
    assert ran.returncode == 0, ran.stderr
    (size,) = json.loads(ran.stdout)["sizes"]
    found = {
        tuple(sorted([*one["configuration"].items(), ("num_ctas", 1)])): one["ms"] for one in size["search"]["evaluations"]
    }
    assert found == pytest.approx(own, abs=2e-6)  # ms are single-precision numbers from a continuing clock
