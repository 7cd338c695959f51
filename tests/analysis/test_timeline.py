"""Lanes and rates of a timeline, against what counting by hand at each moment gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.timeline import _rates, _without_overlaps

moments = st.tuples(st.integers(0, 20), st.integers(0, 8)).map(lambda drawn: (drawn[0], sum(drawn)))
slices = st.lists(moments, min_size=1, max_size=12).map(sorted)


def columns(drawn) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array(column, np.int64) for column in zip(*drawn, strict=True))


@given(slices)
def test_each_slice_has_the_lowest_lane_that_is_free(drawn):
    lanes = _without_overlaps(*columns(drawn)).tolist()
    for place, (begin, _) in enumerate(drawn):
        taken = {lanes[earlier] for earlier in range(place) if drawn[earlier][1] > begin}
        assert lanes[place] == min(set(range(len(drawn))) - taken)


@given(slices, st.data())
def test_at_each_moment_the_rates_of_those_that_run_are_added(drawn, data):
    values = data.draw(st.lists(st.sampled_from([np.nan, 0.0, 1.0, 24.0, 840.0]), min_size=len(drawn), max_size=len(drawn)))
    at, total = _rates(*columns(drawn), np.array(values))
    told = dict(zip(at.tolist(), total, strict=True))
    counted = [one for one, value in zip(drawn, values, strict=True) if value == value and one[0] < one[1]]
    assert set(told) == {moment for one in counted for moment in one} and at.tolist() == sorted(told)
    for moment, rate in told.items():
        running = [
            1000 * value / (end - begin)
            for (begin, end), value in zip(drawn, values, strict=True)
            if value == value and begin <= moment < end
        ]
        assert rate == pytest.approx(sum(running), rel=1e-4)
        assert running or rate == 0  # and no rest of a sum
