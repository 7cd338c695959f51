"""testbed/bottlenecks: five kernels, each built to be limited by one thing, are run on the device and classified
accordingly."""

from __future__ import annotations

import json

import pytest

EXPECTED = {
    "streams": "memory-bandwidth-bound",
    "multiplies": "compute-throughput-limited",
    "chases": "latency-bound",
    "hoards": "under-occupied",
    "diverges": "divergence-limited",
}


@pytest.fixture(scope="module")
def kernels(testbed, tmp_path_factory, rocm_perf_in) -> dict[str, dict]:
    """The entries of analysis.json by kernel name."""
    folder = tmp_path_factory.mktemp("classes")
    options = ("--device", "gfx942", "--runs", 1, "--no-deep-analysis", "--json", "-o", folder / "run")
    run = rocm_perf_in(folder, "profile", *options, testbed("bottlenecks"))
    return {entry["kernel"].partition("(")[0]: entry for entry in json.loads(run.stdout)["analysis"]["kernels"]}


@pytest.mark.parametrize("kernel", EXPECTED)
def test_each_kernel_is_classified_as_what_it_was_built_to_be(kernel, kernels):
    found = kernels[kernel]["bottleneck"]
    assert found["name"] == EXPECTED[kernel], found["classes"]
    assert found["certainty"] in ("high", "medium")
    assert all(item["holds"] and item["value"] is not None for item in found["evidence"])
    others = [scored for scored in found["classes"] if scored["name"] != found["name"]]
    assert len(others) == 4 and all(scored["score"] < 0.5 for scored in others)


def test_headroom_is_least_where_a_unit_is_saturated(kernels):
    """A chain of loads, a CU with one wave, an eighth of the lanes: each leaves most of the device unused."""
    fraction = {name: kernels[name]["headroom"]["fraction"] for name in EXPECTED}
    saturated = max(fraction["streams"], fraction["multiplies"])
    assert saturated < 0.5 < min(fraction[name] for name in ("chases", "hoards", "diverges"))
    for name in EXPECTED:
        entry = kernels[name]
        assert entry["headroom"]["priority"] == pytest.approx(fraction[name] * entry["critical_path_score"])


def test_a_linked_list_followed_by_one_wave_is_latency_bound_however_empty_the_device(testbed, tmp_path, rocm_perf_in):
    options = ("--device", "gfx942", "--runs", 1, "--no-deep-analysis", "--json", "-o", tmp_path / "run")
    run = rocm_perf_in(tmp_path, "profile", *options, testbed("pointer_chase"), "--hops", 2000)
    chases = [entry for entry in json.loads(run.stdout)["analysis"]["kernels"] if entry["kernel"].startswith("chase_")]
    assert [entry["bottleneck"]["name"] for entry in chases] == ["latency-bound"] * 2
    assert all("small-grid" in [factor["name"] for factor in entry["bottleneck"]["factors"]] for entry in chases)
