"""What is known before anything runs, against LLVM's limits by hand and the occupancy shown in a profile."""

from __future__ import annotations

import json

import pytest

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.autotune.launch import launchable_space
from rocm_perf_lab.autotune.space_file import read_space
from rocm_perf_lab.autotune.strategies import STRATEGIES, Options, create
from rocm_perf_lab.errors import SpaceError

SPACE = {
    "parameters": {"x": [8, 16, 32, 64], "y": [1, 4, 16, 32, 64], "lds": [0, 16384, 32768, 65536, 65540]},
    "fixed": {"vgprs": 128},
    "launch": {"workgroup_size": "x * y", "lds_bytes": "lds", "vgprs": "vgprs"},
}


@pytest.fixture
def read(tmp_path):
    def read(content):
        (tmp_path / "space.json").write_text(json.dumps(content))
        return read_space(tmp_path / "space.json")

    return read


@pytest.mark.parametrize("target", ["gfx942", None])
def test_only_configurations_that_can_be_launched_are_left(read, target):
    space, _ = launchable_space(read(SPACE), target)
    rows = {tuple(space.named(row).values()) for row in space}
    xs, ys, sizes = SPACE["parameters"].values()
    # 128 VGPRs let 4 waves of 64 reside on each of 4 SIMDs: 1024 threads, which is the largest workgroup anyway.
    assert rows == {(x, y, lds) for x in xs for y in ys for lds in sizes if x * y <= 1024 and lds <= 65536}


def test_a_workgroup_with_too_many_registers_cannot_be_launched(read):
    space, _ = launchable_space(read(SPACE | {"fixed": {"vgprs": 129}}), "gfx942")  # 3 waves on a SIMD: 768 threads
    assert {space.named(row)["x"] * space.named(row)["y"] for row in space if space.named(row)["lds"] == 0} == {
        8, 16, 32, 64, 128, 256, 512
    }  # fmt: skip


def test_the_occupancy_is_that_of_the_rules(read):
    space, occupancy = launchable_space(read(SPACE), "gfx942")
    for row in space:
        values = space.named(row)
        resources = KernelResources(128, 0, 0, values["lds"], values["x"] * values["y"])
        assert occupancy(values) == family_of("gfx942").occupancy(resources).fraction


@pytest.mark.parametrize("name", STRATEGIES)
def test_configurations_that_cannot_be_launched_are_never_proposed(read, name):
    space, occupancy = launchable_space(read(SPACE), "gfx942")
    strategy = create(name, space, 1, Options(1000, occupancy=occupancy))
    proposed = []
    while batch := strategy.propose():
        proposed += batch
        for row in batch:
            strategy.tell(row, 1.0 + sum(row))
    assert len(proposed) == len(set(proposed)) <= len(space.listed)
    assert all(space.named(row)["x"] * space.named(row)["y"] <= 1024 and space.named(row)["lds"] <= 65536 for row in proposed)


def test_the_sequential_search_starts_where_occupancy_is_high(read):
    space, occupancy = launchable_space(read(SPACE), "gfx942")

    def mean(rows):
        return sum(occupancy(space.named(row)) for row in rows) / len(rows)

    everywhere = mean(list(space))
    starts = [create("sequential", space, seed, Options(100, occupancy=occupancy)).propose() for seed in range(10)]
    assert all(mean(start) > everywhere for start in starts)


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ({"workgroup_size": "x * 1000000"}, "no configuration can be launched"),
        ({"workgroup_size": "x / 3"}, "not a whole number"),
        ({"workgroup_size": "z"}, "not a parameter"),
        ({"workgroup_size": "x", "sgprs": "1"}, "unknown key"),
        ({"lds_bytes": "x"}, "workgroup_size"),
    ],
)
def test_wrong_descriptions_are_refused(read, launch, said):
    with pytest.raises(SpaceError, match=said):
        launchable_space(read(SPACE | {"launch": launch}), "gfx942")
