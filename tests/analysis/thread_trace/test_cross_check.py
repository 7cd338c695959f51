"""Sums over the records of waves, added up by hand, and what is reported where two sources differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocm_perf_lab.analysis.thread_trace.cross_check import difference, idle_of, per_instruction, rows_of, unlike
from rocm_perf_lab.analysis.thread_trace.tables import TracedCode, Wave


def code(lines=(2, 5, 9)) -> TracedCode:
    columns = {name: np.arange(len(lines)) * factor for name, factor in zip(TracedCode.SUMS, (1, 10, 3, 2), strict=True)}
    return TracedCode(
        line=np.array(lines, np.int64), text=[f"i{line}" for line in lines], source=[f"a.hip:{line}" for line in lines],
        code_object=np.full(len(lines), 1), vaddr=np.array(lines, np.int64) * 8, kernel=np.zeros(len(lines), np.int64),
        kernels=[("k", "k()")], **columns,
    )  # fmt: skip


def wave(*records: tuple[int, int, int, int, int], begin: int = 100) -> Wave:
    """records: time, category, stall, latency, line."""
    return Wave("w", 0, 0, 0, 0, begin, 1000, np.array(records, np.int64).reshape(-1, 5))


def test_the_row_of_each_record():
    records = [(0, 1, 0, 0, line) for line in (9, 2, 3, 5, 0, 10, 2)]
    assert rows_of(code(), wave(*records)).tolist() == [2, 0, -1, 1, -1, -1, 0]
    assert rows_of(code(()), wave(*records)).tolist() == [-1] * 7


def test_idle_time_is_what_passes_after_all_earlier_records_have_ended():
    records = [
        (103, 1, 0, 50, 2),  # 3 cycles after the wave begins; until 153
        (110, 1, 0, 4, 5),  # while the first still takes time
        (160, 1, 0, 4, 0),  # not placed: does not count
        (155, 1, 0, 4, 3),  # on a line that the code lacks, 2 cycles after the first; until 159
        (170, 1, 0, 1, 9),
    ]
    assert idle_of(wave(*records)).tolist() == [3, 0, 0, 2, 11]
    assert idle_of(wave()).tolist() == []
    assert idle_of(wave((90, 1, 0, 4, 2), begin=100)).tolist() == [0]


def test_each_instruction_has_the_sums_of_its_records():
    first = wave((103, 1, 1, 50, 2), (160, 1, 2, 4, 5), (165, 1, 8, 8, 5), (180, 1, 5, 9, 3), (200, 1, 7, 9, 0))
    second = wave((100, 1, 0, 4, 9), (110, 1, 3, 6, 2))
    found = per_instruction(code(), [first, second])
    assert {name: values.tolist() for name, values in found.items()} == {
        "hits": [2, 2, 1], "latency": [56, 12, 4], "stall": [4, 10, 0], "idle": [3 + 6, 7 + 1, 0],
    }  # fmt: skip
    assert {name: values.tolist() for name, values in per_instruction(code(), []).items()} == dict.fromkeys(
        TracedCode.SUMS, [0, 0, 0]
    )


def test_no_difference_between_equal_sums():
    sums = {name: getattr(code(), name) for name in TracedCode.SUMS}
    assert difference("one", code(), "other", code()) is None and difference("one", code(), "other", sums) is None


@pytest.mark.parametrize(
    "name, row, other, said",
    [
        ("hits", 0, 77, "one and other disagree: hits of `i2` at 0x10 is 0 in one and 77 in the other"),
        ("idle", 2, 3, "one and other disagree: idle of `i9` at 0x48 is 4 in one and 3 in the other"),
        ("stall", 1, 77, "one and other disagree: stall of `i5` at 0x28 is 3 in one and 77 in the other"),
        ("latency", 1, 0, "one and other disagree: latency of `i5` at 0x28 is 10 in one and 0 in the other"),
    ],
)
def test_the_first_instruction_that_differs_is_named(name, row, other, said):
    sums = {one: getattr(code(), one).copy() for one in TracedCode.SUMS}
    sums[name][row:] = other
    assert difference("one", code(), "other", sums) == said
    assert difference("one", code(), "other", replace(code(), **sums)) == said


def test_the_number_of_instructions_is_compared_first():
    assert difference("one", code(), "other", code((2, 5))) == "one has 3 instructions, other 2"
    assert difference("one", code((2, 5)), "other", code()) == "one has 2 instructions, other 3"


def test_text_is_truncated_to_60_characters():
    long = replace(code((2,)), text=["x" * 61])
    other = replace(long, hits=np.array([1]))
    assert f"`{'x' * 60}`" in difference("one", long, "other", other)
    assert unlike("one", long, "other", code((2,))) == f"one and other disagree: `{'x' * 60}` at 0x10 is in one only"


@pytest.mark.parametrize(
    "changed",
    [
        {"text": ["i2", "?", "i9"]}, {"source": ["a.hip:2", "", "a.hip:9"]}, {"vaddr": np.array([16, 41, 72])},
        {"code_object": np.array([1, 2, 1])},
    ],
)  # fmt: skip
def test_two_listings_are_equal_if_all_their_instructions_are(changed):
    assert unlike("one", code(), "other", code()) is None
    assert unlike("one", code(), "other", replace(code(), **changed)) == "one and other disagree: `i5` at 0x28 is in one only"
