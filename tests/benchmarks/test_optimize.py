"""The table of `benchmarks/optimize.py` on known cases, and the softmax page compared with what the transformation does."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.optimize.transforms import TRANSFORMS, wave_per_row

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in ("optimize", "softmax_story"):
        sys.modules.pop(name, None)


@pytest.fixture
def entry():
    return importlib.import_module("optimizing.entry")


def test_every_row_can_be_prepared(entry, repository):
    rows = entry.read_entries()
    assert len(rows) >= 25 and len({one.name for one in rows}) == len(rows)
    for one in rows:
        assert one.sizes and set(one.options[::2]) <= {"--ulps"}
        if one.origin != "hecbench":
            folder = repository / ("testbed" if one.origin == "testbed" else "tests/optimize/transforms")
            text = (folder / f"{one.program}.hip").read_text()
            assert f"{one.kernel}(" in text
            assert one.origin == "tests" or len(one.sizes) == 3


def test_outputs_are_compared_except_for_times(entry):
    before = "PASS sum=12.5\nAverage kernel execution time 7.1 (us)\nvalue 3\n"
    plain, checked = (entry.Entry("x", "tests", "x", "x", "", ("",), (), check) for check in ("", "grep -q PASS"))
    for one, like, unlike in (
        (plain, before.replace("7.1", "5.9"), before.replace("value 3", "value 4")),
        (checked, before.replace("12.5", "12.4"), before.replace("PASS", "FAIL")),
    ):
        trial = entry.Trial(one, Path(), None, [])
        assert trial._is_correct_output(before, like) and not trial._is_correct_output(before, unlike)


def test_the_table_has_gains_reasons_and_geometric_means():
    optimize = importlib.import_module("optimize")
    kept = {"accepted": ["a"], "judged": 3, "passed_over": 1, "stop": "ended", "seconds": 7.4, "outputs": "same at 3"}
    half, same = {**kept, "kernel": 0.25, "program": 0.5}, {**kept, "kernel": 1.0, "program": 1.0}
    results = {"x": half, "y": same, "z": {"error": "no"}}
    lines = optimize.table(results).splitlines()
    assert lines[2] == "| x | 75.0% | 50.0% | 7 | 3 | `a` | ended | same at 3 |"
    assert lines[4].startswith("| z | - |") and "| no |" in lines[4]
    assert "over 2 kernels: 2.00 times" in lines[-3] and "over 2 programs: 1.41 times" in lines[-1]


def test_the_page_of_the_softmax_shows_what_the_transformation_does(repository, hipcc):
    page = (repository / "docs" / "guide" / "softmax.md").read_text()
    source = read(repository / "testbed" / "softmax.hip", ("hipcc", "-O3", "--offload-arch=gfx942"))
    (proposal,) = TRANSFORMS[wave_per_row.NAME](source, source.kernel("softmax_naive"), ())
    told = unified_diff(source.text, source.edited(proposal.edits).text, "softmax.hip")
    shown = page.partition("```diff\n")[2].partition("```")[0]
    changed = [line for line in told.splitlines() if line[:1] in "+-"]
    assert [line for line in shown.splitlines() if line[:1] in "+-" and not line.startswith("+#line")] == changed
