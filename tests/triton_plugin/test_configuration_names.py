"""Names of kernels compiled for different configurations of one function."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rocm_perf_triton.configuration_names import name

CONFIGURATIONS = st.lists(
    st.fixed_dictionaries({"BLOCK_M": st.sampled_from([16, 32]), "SPLIT": st.booleans(), "num_warps": st.integers(1, 8)}),
    min_size=1,
    max_size=6,
)


@given(CONFIGURATIONS)
def test_different_configurations_have_different_names(configurations: list[dict]):
    names = [name("matmul", configurations, {**one, "debug": False}) for one in configurations]
    assert all(one.isidentifier() and one.startswith("matmul") for one in names)
    assert len(set(names)) == len({tuple(sorted(one.items())) for one in configurations})


def test_only_what_differs_is_named():
    configurations = [{"BLOCK": 64, "num_warps": 4}, {"BLOCK": 128, "num_warps": 4}]
    assert name("f", configurations, configurations[1]) == "f__BLOCK_128"
    assert name("f", configurations[:1], configurations[0]) == "f"
    assert name("f", configurations, {}) == "f"
