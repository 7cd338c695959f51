"""Time stacks: Shapley values against their definition, and files that are damaged."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.thread_trace import time_stack
from rocm_perf_lab.analysis.thread_trace.parse import Unreadable

subset_times = st.integers(0, 4).flatmap(lambda n: st.lists(st.integers(0, 10**9), min_size=1 << n, max_size=1 << n))


@given(subset_times)
def test_parts_are_the_mean_over_all_orders_and_sum_to_what_all_cost(times):
    n = len(times).bit_length() - 1
    gains = [Fraction(0)] * n
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        taken = 0
        for i in order:
            gains[i] += times[taken] - times[taken | 1 << i]
            taken |= 1 << i
    assert time_stack.shapley(times) == [gain / len(orders) for gain in gains]
    assert sum(time_stack.shapley(times)) == times[0] - times[-1]


def test_by_hand():
    """Two causes that hide each other: without one alone nothing is gained, without both 60 of 100."""
    assert time_stack.shapley([100, 100, 100, 40]) == [30, 30]
    assert time_stack.shapley([100, 70, 90, 60]) == [30, 10]


DOCUMENT = {
    "version": 1, "duration_ns": 1000, "without_all_ns": 0,
    "causes": {"barriers": {"without_ns": 700, "only_ns": 0}, "atomics": {"without_ns": 900, "only_ns": 100}},
    "chosen": ["atomics", "barriers"], "subset_ns": [1000, 900, 700, 600],
    "instructions": [
        {"text": "a", "source": "x.hip:1", "code_object": 1, "vaddr": 8, "without_ns": 990},
        {"text": "b", "source": "", "code_object": 1, "vaddr": 16, "without_ns": 800},
    ],
}  # fmt: skip


def written(folder, document: object):
    (folder / time_stack.FILE).write_text(document if isinstance(document, str) else json.dumps(document))
    return folder


def test_read(tmp_path):
    stack = time_stack.read(written(tmp_path, DOCUMENT))
    assert [(part.cause, part.ns, part.first_ns, part.last_ns) for part in stack.parts] == [
        ("barriers", 300, 300, 300),
        ("atomics", 100, 100, 100),
    ]
    assert (stack.duration_ns, stack.rest_ns) == (1000, 600)
    assert [(one.text, one.gain_ns) for one in stack.instructions] == [("b", 200), ("a", 10)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "has version 2"),
        ({"subset_ns": [1000, 900]}, "a time for every set"),
        ({"subset_ns": [999, 900, 700, 600]}, "a time for every set"),
        ({"subset_ns": [1000, -1, 700, 600]}, "whole number"),
        ({"duration_ns": True}, "whole number"),
        ({"duration_ns": "1000"}, "whole number"),
        ({"chosen": ["atomics", "gravity"]}, "does not describe"),
        ({"chosen": 7}, "lacks"),
        ({"instructions": [{}]}, "lacks"),
        ({"causes": None}, "lacks"),
    ],
)
def test_damaged(tmp_path, change, why):
    with pytest.raises(Unreadable, match=why):
        time_stack.read(written(tmp_path, DOCUMENT | change))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}'])
def test_truncated(tmp_path, text):
    with pytest.raises(Unreadable):
        time_stack.read(written(tmp_path, text))


def test_without_a_file(tmp_path):
    with pytest.raises(Unreadable, match="only the software device"):
        time_stack.read(tmp_path)
