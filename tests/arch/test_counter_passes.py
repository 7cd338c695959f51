from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.arch.counter_passes import counter_passes, pack
from rocm_perf_lab.arch.families import family_of

REGISTERS = {"SQ": 8, "TCP": 4, "TCC": 4, "TA": 2, "GRBM": 2, "XYZ": 1}
names = st.lists(st.builds("{}_{}".format, st.sampled_from(sorted(REGISTERS)), st.integers(0, 99)), unique=True)


@given(names)
def test_passes_hold_each_counter_once_within_the_registers_and_are_as_few_as_possible(counters):
    passes = pack(counters)
    assert sorted(name for names in passes for name in names) == sorted(counters)
    for names_of_pass in passes:
        for block, count in Counter(name.split("_")[0] for name in names_of_pass).items():
            assert 0 < count <= REGISTERS[block]
    totals = Counter(name.split("_")[0] for name in counters)
    assert len(passes) == max((-(-count // REGISTERS[block]) for block, count in totals.items()), default=0)


@pytest.mark.parametrize("target", ["gfx942", "gfx90a"])
def test_everything_that_the_analysis_asks_for_is_collected(target):
    assert {name for names in counter_passes(target) for name in names} == set(family_of(target).counters()) != set()


def test_unknown_target_has_no_passes():
    assert counter_passes("gfx000") == []
