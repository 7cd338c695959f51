"""Other inputs: what the kernel makes of them is what the host makes of them, case by case, a failing one among them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.replay import Case, replay, replay_cases

COUNT = 1000


@pytest.fixture(scope="module")
def copy(captured):
    """The capture of a copy of doubles from the first argument to the third, the arguments, and where they lie."""
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
    # The second case's pointer and the first one's values are gone again.
    assert written(plain.dump, target, COUNT).tobytes() == case.memory(source, 8 * COUNT)


def test_an_overlay_that_fits_nowhere_is_refused(copy):
    with pytest.raises(UsageError, match="in no captured region"):
        replay(copy[0], overlays=[(0x1000, b"12345678")], iterations=1, device="gfx942")
