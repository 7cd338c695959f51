"""All other inputs of one dispatch: which there are, and what each changes."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs, NumberArgument
from rocm_perf_lab.gate.equivalence.perturbation import FLOATS, INTEGERS, Perturber
from rocm_perf_lab.hip_source.layout import Leaf, TypeLayout

X, K, OUT, N, F = 0x1000, 0x2000, 0x3000, 0x9000, 0x9008
FLOAT, INT = (TypeLayout(name, 4, (Leaf("", 0, scalar),)) for name, scalar in (("float", "float32"), ("int", "int32")))
FLOAT_BUFFER, INT_BUFFER = Buffer("x", "x", X, FLOAT, 64), Buffer("k", "k", K, INT, 64)
SIZE, FACTOR = NumberArgument("n", N, "int32", 64), NumberArgument("f", F, "float32", 1.5)
CONTENTS = {
    X: np.linspace(1, 2, 64, dtype=np.float32).tobytes(),
    K: np.arange(64, dtype=np.int32).tobytes(),
    OUT: bytes(64),
}


@pytest.fixture
def cases(in_memory):
    """cases(buffers, numbers) -> the other inputs by name."""

    def make(buffers=(), numbers=(), left=None, **places):
        made = list(Perturber(in_memory(CONTENTS, left, **places), KernelInputs(list(buffers), list(numbers)), seed=3).all())
        assert len({one.name for one in made}) == len(made)
        return {one.name: one for one in made}

    return make


def test_each_kind_of_number_has_its_own_cases(cases):
    floats, integers = cases([FLOAT_BUFFER]), cases([INT_BUFFER])
    assert set(FLOATS) <= {*floats, "nothing but zeros"} and not set(INTEGERS) & set(floats)
    assert set(INTEGERS) <= set(integers) and not set(FLOATS) & set(integers)
    assert floats["shuffled"].overlays[0][0] == X and integers["integers shuffled"].overlays[0][0] == K


@pytest.mark.parametrize(
    "buffers, numbers, together",
    [
        ([FLOAT_BUFFER], [FACTOR], True),
        ([INT_BUFFER], [FACTOR], False),
        ([FLOAT_BUFFER], [SIZE], False),
        ([], [FACTOR], False),
        ([FLOAT_BUFFER, INT_BUFFER], [SIZE, FACTOR], True),
    ],
)
def test_a_floating_point_number_by_value_changes_with_those_in_memory(cases, buffers, numbers, together):
    made = cases(buffers, numbers)
    both = [one for name, one in made.items() if name.endswith((", observed range", ", NaN and infinity"))]
    assert bool(both) == together
    for one in both:
        assert one.numbers == ("f",) and {field.name for field in one.fields} == {"x"}
        assert [address for address, _ in one.overlays] == [X, F]
    if together:
        assert {name.partition(",")[0] for name in made if name.endswith(", NaN and infinity")} == {"f = 0", "f = inf"}
        assert sum(name.endswith(", observed range") for name in made) == 1


def test_nothing_but_zeros_comes_with_negative_numbers(cases):
    (zeros,) = [one for name, one in cases([FLOAT_BUFFER], [SIZE, FACTOR]).items() if name.startswith("nothing but zeros")]
    assert zeros.name == "nothing but zeros, f = -2.5" and zeros.numbers == ("f",)
    assert zeros.overlays[-1] == (F, np.float32([-2.5]).tobytes())
    assert cases([FLOAT_BUFFER])["nothing but zeros"].numbers == ()


def test_bytes_behind_the_buffers_change_where_there_are_any(cases):
    made = cases([FLOAT_BUFFER], allocations={X: [(X, 200)]})["other bytes after the buffers"]
    ((address, content),) = made.overlays
    assert address == X + 200 and len(content) == 56 and made.inputs == frozenset()
    assert "other bytes after the buffers" not in cases([FLOAT_BUFFER])


def test_values_nearby_change_all_that_can_change(cases):
    assert cases([FLOAT_BUFFER], [SIZE])["nearby values"].inputs == {"x", "n"}
    assert "nearby values" not in cases(numbers=[NumberArgument("n", N, "int32", 1)])


def test_numbers_by_value_take_turns_with_the_results_in_place(cases):
    result = np.full(16, 7, np.int32).tobytes()
    made = [one for one in cases(numbers=[SIZE], left={OUT: result}).values() if one.numbers == ("n",)]
    turns = [one for one in made if not one.name.startswith("nearby")]
    assert [one.on_results for one in turns] == [bool(turn % 2) for turn in range(len(turns))]
    assert all((one.overlays[0] == (OUT, result)) == one.on_results for one in turns)
    assert all(one.overlays[-1][0] == N and not one.may_leave_buffers for one in turns)


@pytest.mark.parametrize("captured", [5, 1, 0, -3])
def test_only_a_larger_size_may_lead_beyond_a_buffer(cases, captured):
    made = [one for one in cases(numbers=[NumberArgument("n", N, "int32", captured)]).values() if one.numbers == ("n",)]
    assert made
    for one in made:
        (value,) = np.frombuffer(one.overlays[-1][1], np.int32)
        assert one.may_leave_buffers == (0 < captured < value), one.name


def test_two_sizes_are_traded_and_one_alone_is_not(cases):
    other = NumberArgument("m", N + 4, "int32", 32)
    traded = [one for one in cases(numbers=[SIZE, other]).values() if len(one.numbers) == 2 and one.may_leave_buffers]
    assert [one.numbers for one in traded] == [("n", "m"), ("m", "n")]
    for one in traded:
        values = dict(zip(one.numbers, (int(np.frombuffer(content, np.int32)[0]) for _, content in one.overlays), strict=True))
        larger, smaller = one.numbers
        captured = {"n": 64, "m": 32}
        assert values[larger] > captured[larger] and 1 <= values[smaller] < captured[smaller]
    assert not [one for one in cases(numbers=[SIZE]).values() if len(one.numbers) == 2]


def test_an_enum_keeps_to_its_values(cases):
    choice = NumberArgument("n", N, "int32", 2, (1, 2, 4))
    made = [one for one in cases(numbers=[choice]).values() if one.numbers == ("n",)]
    values = [int(np.frombuffer(one.overlays[-1][1], np.int32)[0]) for one in made]
    assert sorted(values) == [1, 1, 4, 4] and not any(
        one.may_leave_buffers for one in made
    )  # each also with the results in place
