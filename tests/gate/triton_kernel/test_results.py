"""Which results of two launches are equal: bit by bit, or within units in the last place of what was written."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.gate.triton_kernel.inputs import store_contents
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer
from rocm_perf_lab.gate.triton_kernel.results import ResultsDifferError, expect_same


@pytest.fixture
def apart(tmp_path):
    """apart(before, what one launch leaves, what the other leaves, ulps) -> how they differ, None if they do not."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()

    def compare(before, left, other, ulps=0, kind=None, inputs=None):
        memory = RecordedBuffer(
            names=["y", "x"], size=before.nbytes, shift=0, contents=store_contents(before.tobytes(), tmp_path)
        )
        buffers, types = [memory], {"y": f"{before.dtype}" if kind is None else kind, "x": "int64"}
        if inputs is not None:
            contents = store_contents(inputs.tobytes(), tmp_path)
            buffers.append(RecordedBuffer(names=["z", "x"], size=inputs.nbytes, shift=0, contents=contents))
            types["z"] = f"{inputs.dtype}"
            buffers.append(RecordedBuffer(names=[], size=inputs.nbytes, shift=0, contents=contents))
        for place, content, number in (("one", left, 4), ("other", other, 7)):
            (tmp_path / place / f"{number}-0").write_bytes(content.tobytes())
            for index in range(1, len(buffers)):
                (tmp_path / place / f"{number}-{index}").write_bytes(b"same")
        try:
            expect_same(tmp_path / "one", tmp_path / "other", buffers, tmp_path, types, ulps, (4, 7))
        except ResultsDifferError as found:
            assert found.reason == str(found)
            return found
        return None

    return compare


BEFORE = np.zeros(4, np.float32)
LEFT = np.array([1.0, 2.0, 0.0, 4.0], np.float32)
NEXT = np.nextafter(LEFT, np.float32(9))


def with_one(place: int, value: float, left: np.ndarray = LEFT) -> np.ndarray:
    other = left.copy()
    other[place] = value
    return other


def test_without_a_tolerance_every_bit_counts(apart):
    assert apart(BEFORE, LEFT, LEFT.copy()) is None
    found = apart(BEFORE, LEFT, with_one(3, NEXT[3], with_one(1, NEXT[1])))
    assert found.reason == "y[1]: baseline 2.0, candidate 2.0000002; 2 of 4 elements differ, by 1 ULP at most"
    section = found.section
    assert (section.parameter, section.element, section.type) == ("y", "y[1]", "float32")
    assert (section.baseline, section.candidate) == ("2.0", "2.0000002")
    assert (section.differing, section.of, section.largest_ulps) == (2, 4, 1)
    assert apart(BEFORE, LEFT, with_one(2, -0.0)) is not None


@pytest.mark.parametrize("steps, ulps, same", [(1, 1, True), (2, 1, False), (2, 2, True), (1, 0, False)])
def test_a_tolerance_in_units_in_the_last_place(apart, steps, ulps, same):
    """Where nothing was written, nothing else allows a difference."""
    other = LEFT.copy()
    for _ in range(steps):
        other[0] = np.nextafter(other[0], np.float32(9))
    assert (apart(LEFT, LEFT, other, ulps) is None) == same


# Each unit allows 2**-22 of the largest number that was written, which is 4: 2**-20.
@pytest.mark.parametrize(
    "value, ulps, same",
    [(2.0**-20, 1, True), (2.0**-19, 1, False), (2.0**-19, 2, True), (-(2.0**-20), 1, True), (2.0**-20, 0, False)],
)
def test_near_zero_the_largest_number_decides(apart, value, ulps, same):
    assert (apart(BEFORE, LEFT, with_one(2, value), ulps) is None) == same


def test_earlier_contents_and_non_finite_numbers_do_not_count_as_the_largest(apart):
    before = np.array([0, 0, 0, 1e30], np.float32)
    left = with_one(3, 1e30)
    assert apart(before, left, with_one(2, 2.0**-20, left), 1) is not None  # 2 is the largest
    assert apart(before, left, with_one(2, 2.0**-21, left), 1) is None
    assert apart(with_one(3, 9.0, BEFORE), LEFT, with_one(2, 2.0**-20), 1) is None  # 4 was written in place of 9
    # A quarter of 4 is allowed, and not a quarter of 5.
    assert apart(BEFORE, LEFT, with_one(3, 5.0, with_one(2, 1.0)), 1 << 20) is None
    assert apart(BEFORE, LEFT, with_one(3, 5.0, with_one(2, 1.125)), 1 << 20) is not None
    left = with_one(3, np.inf)
    assert apart(BEFORE, left, with_one(2, 2.0**-20, left), 1) is not None
    assert apart(BEFORE, LEFT, with_one(3, -4.0), 1) is not None
    assert apart(LEFT, LEFT, with_one(2, 1e-30), 1) is not None  # nothing was written


@pytest.mark.parametrize("kind, floor", [(np.float64, 2.0**-51), (np.float16, 2.0**-22)])
def test_other_types_have_another_accumulator(apart, kind, floor):
    before, left = np.zeros(2, kind), np.array([1.0, 0.0], kind)
    assert apart(before, left, np.array([1.0, floor], kind), 1) is None
    assert apart(before, left, np.array([1.0, 2 * floor], kind), 1) is not None


@pytest.mark.parametrize(
    "left, other, same", [(np.inf, np.inf, True), (np.inf, -np.inf, False), (np.inf, 3e38, False), (3e38, np.inf, False)]
)
def test_infinities_are_equal_only_to_themselves(apart, left, other, same):
    found = apart(BEFORE, with_one(1, left), with_one(1, other), 1 << 30)
    assert (found is None) == same
    if found is not None:
        assert found.section.largest_ulps is None and "ULP" not in found.reason


def test_nans_are_the_same_if_an_operation_on_the_inputs_may_give_both(apart):
    def bits(*words: int) -> np.ndarray:
        return np.array(words, np.uint32).view(np.float32)

    left, other = bits(0x7FC00000, 0), bits(0xFFC00000, 0)
    assert apart(BEFORE[:2], left, other) is None
    assert apart(BEFORE[:2], left, bits(0xFFC00123, 0)) is not None
    assert apart(BEFORE[:2], left, bits(0xFFC00123, 0), inputs=bits(0x7FC00123)) is None


@pytest.mark.parametrize("kind, element", [("int32", "y[1]"), ("uint32", "y[1]"), ("bool", "y[4]"), ("V4", "y[4]")])
def test_other_types_than_floating_point_are_compared_exactly(apart, kind, element):
    left = np.array([1, 2, 3], np.int32)
    found = apart(np.zeros(3, np.int32), left, np.array([1, 5, 2], np.int32), 1 << 30, kind)
    size = 3 if kind.endswith("int32") else 12
    assert found.reason == f"{element}: baseline 2, candidate 5; 2 of {size} elements differ"
    assert (found.section.type, found.section.largest_ulps, found.section.of) == (kind, None, size)


def test_arrays_without_a_known_type_are_compared_as_bytes(apart):
    memory = np.array([1, 2], np.uint8)
    assert apart(memory, memory, np.array([1, 9], np.uint8), kind="").reason.startswith("y[1]: baseline 2, candidate 9; 1 of 2")
