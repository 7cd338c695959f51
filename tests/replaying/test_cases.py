"""Other inputs: the kernel's results equal the host's, case by case, with a failing one among them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.replaying import Case, CaseOutcome, ReplayResult, replay, replay_cases

COUNT = 1000
PROGRAMS = Path(__file__).parent.parent / "programs"


@pytest.fixture(scope="module")
def copy(captured):
    """The capture of a kernel that copies doubles from the first argument to the third, the arguments, and their offsets."""
    case = captured("vcopy", "vecCopy", 0, "-n", str(COUNT))
    source, _, target = np.frombuffer((case.path / "kernarg.bin").read_bytes(), "<u8", 3).tolist()
    return case, source, target, int(case.dispatch["packet"]["kernarg_address"], 16)


def written(dump, address, count):
    for region in json.loads((dump / "outputs.json").read_bytes())["regions"]:
        start = address - int(region["base"], 16)
        if 0 <= start < region["bytes"]:
            return np.frombuffer((dump / region["file"]).read_bytes()[start : start + 8 * count], "<f8")
    raise AssertionError("not written")


def test_each_case_has_its_own_inputs_and_a_fault_ends_only_its_own(copy, tmp_path):
    case, source, target, kernarg = copy
    values = np.random.default_rng(1).normal(size=COUNT)
    nowhere = (kernarg, (1 << 46).to_bytes(8, "little"))
    cases = [Case(((source, values.tobytes()),), 0xA5), Case((nowhere,)), Case(poison=0xA5)]
    changed, faulted, plain = replay_cases(case, cases, tmp_path, device="gfx942")
    assert np.array_equal(written(changed.dump, target, COUNT), values)
    assert faulted.failure and faulted.gpu_ms is None and plain.failure is None
    # The second case's pointer and the first case's values have been undone.
    assert written(plain.dump, target, COUNT).tobytes() == case.memory(source, 8 * COUNT)


def test_an_overlay_outside_of_all_regions_is_refused(copy):
    with pytest.raises(UsageError, match="neither in a captured data region"):
        replay(copy[0], overlays=[(0x1000, b"12345678")], iterations=1, device="gfx942")


OPTIONS = [
    (),
    ("race-check=5", "initial-values=9"),
    ("timed-cu=77",),
    (),
    ("initial-values=3",),
    ("race-check=0",),
    (),
]


def told(one: CaseOutcome | ReplayResult):
    """The findings of a run: time, counts, whether memory is as captured, races and written ranges."""
    if isinstance(one, CaseOutcome):
        assert one.failure is None
        return one.gpu_ms, one.counted, one.equal, one.races, one.written
    return *one.gpu_ms, one.counted, one.equal, one.races, one.written


@pytest.mark.parametrize(
    ("program", "kernel", "arguments"),
    [
        ("reduction", "reduce_lds", ("-n", "20000")),
        (PROGRAMS / "races.hip", "missing_barrier", ("missing_barrier",)),
        (PROGRAMS / "races.hip", "unwritten_lds", ("unwritten_lds",)),
    ],
)
def test_a_run_within_a_series_equals_a_run_alone(captured, compiled, tmp_path, program, kernel, arguments):
    program = compiled(program) if isinstance(program, Path) else program
    case = captured(program, kernel, 0, *arguments)
    cases = [Case(device_options=more, flush_cache=True, compare=True, dump=False, findings=True) for more in OPTIONS]
    together = replay_cases(case, cases, tmp_path, device="gfx942")
    alone = {
        more: replay(case, iterations=1, flush_cache=True, compare=True, device="gfx942", device_options=more)
        for more in set(OPTIONS)
    }
    assert [told(one) for one in together] == [told(alone[more]) for more in OPTIONS]
    if kernel == "missing_barrier":  # the compared values are not empty
        assert any(one.races and one.written for one in together)
        assert not together[0].races


def test_an_unknown_device_option_of_a_case_is_a_failure_of_that_case(copy, tmp_path):
    wrong, right = replay_cases(copy[0], [Case(device_options=("nope=1",)), Case()], tmp_path, device="gfx942")
    assert "nope=1" in wrong.failure
    assert right.failure is None
