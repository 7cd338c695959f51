"""The space of a Triton function: exactly its configurations, including parameters they leave to defaults."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.autotune.cache import canonical
from rocm_perf_lab.autotune.triton_kernel.tuning_space import from_configurations, from_file
from rocm_perf_lab.errors import SpaceError

CONFIGURATION = st.fixed_dictionaries(
    {"BLOCK": st.sampled_from([16, 32, 64]), "num_warps": st.sampled_from([1, 4]), "FAST": st.booleans()},
    optional={"waves_per_eu": st.sampled_from([0, 2])},
)
LAUNCH = {"constants": ["BLOCK"], "kernel": "scale"}


@given(st.lists(CONFIGURATION, min_size=1, max_size=12))
def test_the_space_has_every_configuration_and_no_other(configurations):
    found = from_configurations(configurations)
    rows = {canonical({**found.fixed, **found.space.named(row)}) for row in found.space}
    names = {name for one in configurations for name in one}
    complete = [{"waves_per_eu": 0} | one if "waves_per_eu" in names else one for one in configurations]
    assert rows == {canonical(one) for one in complete}
    some = configurations[0]
    rows = found.configurations_with([some])
    assert [found.space.named(row).items() <= some.items() | {("waves_per_eu", 0)} for row in rows] in (
        [True],
        [],  # it leaves a tuned parameter at its default
    )


def test_a_parameter_without_a_default_must_be_in_all_configurations():
    with pytest.raises(SpaceError, match="some configurations of the function set BLOCK_N"):
        from_configurations([{"BLOCK_N": 1}, {"num_warps": 4}])


def test_a_file_may_name_only_parameters_of_the_function(tmp_path):
    path = tmp_path / "space.json"
    path.write_text(json.dumps({"parameters": {"BLOCK": [16, 32], "num_stages": [1, 2]}, "fixed": {"kpack": 2}}))
    found = from_file(path, LAUNCH)
    assert len(found.space.listed) == 4 and found.fixed == {"kpack": 2}
    path.write_text(json.dumps({"parameters": {"BLOCK_SIZE": [16, 32]}}))
    with pytest.raises(SpaceError, match="BLOCK_SIZE is neither a constexpr of scale nor an option"):
        from_file(path, LAUNCH)
