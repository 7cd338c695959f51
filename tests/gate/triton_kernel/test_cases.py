"""The sizes and the contents of memory that both kernels are run on."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.gate.triton_kernel.cases import ProblemSize, inputs_for, sizes, with_contents
from rocm_perf_lab.gate.triton_kernel.inputs import INPUTS, random_values, store_contents
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer, RecordedLaunch


def drawn(seed: int = 0, **numbers: int) -> list[ProblemSize]:
    return list(sizes(numbers, np.random.default_rng(seed)))


def test_numbers_vary_alone_and_together_and_may_all_be_one():
    first, *alone, one, other, least = drawn(rows=10, columns=300)
    assert first == ProblemSize("as launched", {}) and alone == [
        ProblemSize("rows=9", {"rows": 9}),
        ProblemSize("columns=299", {"columns": 299}),
    ]
    assert least == ProblemSize("every number 1", {"rows": 1, "columns": 1})
    assert (one.interpreted, other.interpreted) == (True, False) and one.numbers != other.numbers
    for size in (one, other):
        assert size.name == f"rows={size.numbers['rows']}, columns={size.numbers['columns']}"


@pytest.mark.parametrize("value, least, most", [(300, 101, 299), (301, 101, 301), (2, 1, 1), (3, 1, 3), (9, 3, 9)])
def test_drawn_sizes_are_odd_and_between_a_third_and_the_available_room(value, least, most):
    found = {size.numbers["n"] for seed in range(300) for size in drawn(seed, n=value)[2:-1]}
    assert min(found) == least and max(found) == most and all(one % 2 for one in found)


def test_strides_stay_unchanged():
    assert {name for size in drawn(n=9, stride_x=64, xStride=64) for name in size.numbers} == {"n"}
    assert drawn(stride_x=64) == drawn() == [ProblemSize("as launched", {}, interpreted=True)]
    assert not drawn(n=9)[0].interpreted


def test_every_kind_of_contents_for_the_launch_as_it_is_and_one_for_the_others():
    assert inputs_for(ProblemSize("as launched", {})) == {"captured inputs": None, **INPUTS}
    assert inputs_for(ProblemSize("n=9", {"n": 9})) == {"random": random_values}


def test_other_contents_have_the_type_of_the_first_name(tmp_path):
    x, flags = np.linspace(1, 2, 16, dtype=np.float32), np.arange(16, dtype=np.int32)
    buffers = [
        RecordedBuffer(names=names, size=64, shift=0, contents=store_contents(content.tobytes(), tmp_path))
        for names, content in ((["x", "flags"], x), (["flags", "x"], flags), ([], x))
    ]
    about = {"name": "k", "code": "0" * 64, "grid": [1, 1, 1], "threads": 64, "shared": 0, "scratch_bytes": [], "arguments": []}
    launch, generator = RecordedLaunch(**about, buffers=buffers), np.random.default_rng(1)
    types = {"x": "float32", "flags": "int32"}
    assert with_contents(launch, None, types, tmp_path, generator) is launch
    filled = with_contents(launch, random_values, types, tmp_path, generator)
    floats, whole, unknown = ((tmp_path / one.contents).read_bytes() for one in filled.buffers)
    assert not np.isin(np.frombuffer(floats, np.float32), x).any() and unknown == x.tobytes()
    assert np.frombuffer(whole, np.int32).tolist() != [*range(16)] and sorted(np.frombuffer(whole, np.int32)) == [*range(16)]
    assert launch.buffers == buffers and [one.names for one in filled.buffers] == [one.names for one in buffers]
