"""Results of an interpreter compared with those of the compiled code."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rocm_perf_lab.gate.triton_kernel.interpreted import difference_from_interpreter
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer, RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.results import ResultsDifferError


class Script:
    """Answers as a script's process does: with files of its results, or an obstacle."""

    def __init__(self, folder: Path, results: dict[str, np.ndarray] | str):
        self.folder, self.results, self.asked = folder, results, None

    def interpret(self, numbers, contents):
        self.asked = dict(numbers), dict(contents)
        if isinstance(self.results, str):
            return self.results
        for name, array in self.results.items():
            (self.folder / name).write_bytes(array.tobytes())
        return {name: self.folder / name for name in self.results}


NAME = hashlib.sha256(b"").hexdigest()


@pytest.fixture
def interpreted(tmp_path: Path):
    """interpreted(what the code left, what the interpreter left, what was there before) for one array."""

    def judge(left: np.ndarray, results: dict[str, np.ndarray] | str, before: np.ndarray | None = None):
        memory = RecordedBuffer(names=["out", "view"], size=left.nbytes, shift=0, contents=NAME)
        launch = RecordedLaunch(
            name="f", code=NAME, grid=[1, 1, 1], threads=64, shared=0, scratch_bytes=[], arguments=[], buffers=[memory]
        )
        (tmp_path / "3-0").write_bytes(left.tobytes())
        script = Script(tmp_path, results)
        (tmp_path / NAME).write_bytes(before.tobytes() if before is not None else bytes(left.nbytes))
        found = difference_from_interpreter(script, launch, tmp_path, {"n": 7}, tmp_path, 3, {"out": str(left.dtype)})
        assert script.asked == ({"n": 7}, {"out": NAME, "view": NAME})
        return found

    return judge


@pytest.mark.parametrize("kind, near, far", [("float64", 1e-7, 1e-5), ("float32", 1e-5, 1e-2), ("float16", 1e-3, 1e-1)])
def test_floating_point_numbers_may_differ_by_the_arithmetic_of_numpy(interpreted, kind: str, near: float, far: float):
    left = np.linspace(1, 2, 32).astype(kind)
    assert interpreted(left, {"out": left}) is None
    assert interpreted(left, {"view": (left * (1 + near)).astype(kind)}) is None
    apart = interpreted(left, {"out": (left * (1 + far)).astype(kind)})
    assert isinstance(apart, ResultsDifferError) and "out[0]" in apart.reason


def test_a_number_of_one_byte_may_be_off_by_one_step(interpreted):
    left = np.arange(56, 62, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)  # starting from 1, in eighths
    near, far = ((left.view(np.uint8) + steps).view(left.dtype) for steps in (1, 2))
    assert interpreted(left, {"out": near}) is None
    assert isinstance(interpreted(left, {"out": far}), ResultsDifferError)


@pytest.mark.parametrize("before", [-5, 0, 5])
def test_a_small_number_may_differ_by_the_rounding_of_large_ones_around_it(interpreted, before: float):
    """Such a number remains where large ones cancel out. What was there before does not matter."""
    left = np.linspace(1, 2, 32, dtype=np.float32)
    left[7] = 1e-9
    near, far = left.copy(), left.copy()
    near[7], far[7] = 1e-6, 1e-2
    there = np.full(32, before, np.float32)
    assert interpreted(left, {"out": near}, there) is None
    assert isinstance(interpreted(left, {"out": far}, there), ResultsDifferError)


def test_what_was_there_before_allows_no_difference(interpreted):
    """An array that is written only in part may hold anything elsewhere."""
    before = np.full(32, 1e30, np.float32)
    left, other = before.copy(), before.copy()
    left[:4], other[:4] = 0.25, 0.75
    assert isinstance(interpreted(left, {"out": other}, before), ResultsDifferError)


def test_integers_may_not_differ(interpreted):
    left = np.arange(32, dtype=np.int32)
    assert isinstance(interpreted(left, {"out": left + (left == 9)}), ResultsDifferError)


def test_without_results_there_is_a_reason(interpreted):
    left = np.ones(4, np.float32)
    assert interpreted(left, "300 programs are too many") == "300 programs are too many"
    for results in ({}, {"out": left[:2]}):
        assert interpreted(left, results) == "out, view is not what the script launches the kernel with"
