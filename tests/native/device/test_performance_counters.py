"""Performance counters through registers: AMD's aqlprofile counts on the device what the device's own tracer records."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from slow_variants import only

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from hip_compiler import compile_hip
from rocm_perf_lab.arch.counter_passes import pack
from rocm_perf_lab.arch.counters import known_counters

SOURCE = Path(__file__).parent / "runtime" / "aqlprofile_counters.cpp"
PROGRAMS = {"vcopy": ("-n", 262144, "-b", 256, "-i", 2), "reduction": ("--type", "int", "--kernel", "lds")}
# The commands that read the counters empty the caches on some targets and not on others.
FLUSH = ("--device-option", "flush-l2")
OPTIONS = {"gfx942": FLUSH, "gfx90a": FLUSH, "gfx950": FLUSH, "gfx1030": ()}
# The number of instances of each block on the device.
INSTANCES = {
    "gfx942": {"SQ": 32, "TA": 512, "TD": 512, "TCP": 512, "TCC": 128, "GRBM": 8, "SPI": 32, "CPC": 8, "CPF": 8},
    "gfx90a": {"SQ": 8, "TA": 128, "TD": 128, "TCP": 128, "TCC": 32, "GRBM": 1, "SPI": 8, "CPC": 1, "CPF": 1},
    "gfx950": {"SQ": 32, "TA": 512, "TD": 512, "TCP": 512, "TCC": 128, "GRBM": 8, "SPI": 32, "CPC": 8, "CPF": 8},
    "gfx1030": {"SQ": 4, "GRBM": 1},
}


@pytest.fixture(scope="module")
def aqlprofile(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("tool") / "libaqlprofile_counters.so"
    words = ["-std=c++20", "-shared", "-fPIC", "-O1", "-DAMD_INTERNAL_BUILD", "-o", library, SOURCE]
    subprocess.run(["g++", *words, "-lhsa-amd-aqlprofile64", "-lhsa-runtime64"], check=True)
    return library


@pytest.fixture(scope="module")
def events(repository) -> dict[str, dict[str, int]]:
    """Counter -> target -> event."""
    table = tomllib.loads((repository / "src" / "rocm_perf_lab" / "arch" / "counters.toml").read_text())
    return {name: entry["hardware"] for name, entry in table.items()}


def block(counter: str) -> str:
    first = counter.split("_")[0]
    return {"SQC": "SQ"}.get(first, first)


def counted_by_aqlprofile(library: Path, folder: Path, target: str, program: list[str], chosen: list[str]) -> list[list[str]]:
    """For each dispatch, the words "sum/instances" for each event "block:event"."""
    written = folder / "counted"
    variables = {"HSA_TOOLS_LIB": str(library), "COUNTED_EVENTS": " ".join(chosen), "COUNTED_INTO": str(written)}
    command = [sys.executable, "-m", "rocm_perf_lab", "run", "--device", target, *program]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split() for line in written.read_text().splitlines()]


def recorded(folder: Path, target: str, program: list[str], rocm_perf_in) -> list[dict[str, float]]:
    """For each dispatch, counter -> value, from the device's own tracer."""
    rocm_perf_in(folder, "profile", "--runs", 1, "--device", target, *OPTIONS[target], "-o", folder / "run", *program)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute(
            "select dispatch_id, counter_name, sum(counter_value) from pmc_events group by 1, 2 order by 1"
        ).fetchall()
    dispatches: dict[int, dict[str, float]] = {}
    for dispatch, counter, value in rows:
        dispatches.setdefault(dispatch, {})[counter] = value
    return list(dispatches.values())


@pytest.mark.parametrize(
    "target, name",
    only([("gfx942", "vcopy"), ("gfx90a", "reduction"), ("gfx1030", "vcopy")], itertools.product(OPTIONS, PROGRAMS)),
)
def test_every_counter_equals_what_the_tracer_records(target, name, aqlprofile, events, repository, tmp_path, rocm_perf_in):
    compile_hip(f"--offload-arch={target}", "-O3", repository / "testbed" / f"{name}.hip", "-o", tmp_path / name)
    program = [str(word) for word in (tmp_path / name, *PROGRAMS[name])]
    expected = recorded(tmp_path, target, program, rocm_perf_in)
    counters = [one.name for one in known_counters() if one.on_software(target) and target in one.hardware]
    assert len(expected) > 1 and set(counters) <= expected[0].keys()
    compared = 0
    for chosen in pack(counters):
        words = [f"{block(counter)}:{events[counter][target]}" for counter in chosen]
        for found, wanted in zip(counted_by_aqlprofile(aqlprofile, tmp_path, target, program, words), expected, strict=True):
            sums = {counter: tuple(map(int, one.split("/"))) for counter, one in zip(chosen, found, strict=True)}
            assert {counter: value for counter, (value, _) in sums.items()} == {one: round(wanted[one]) for one in chosen}
            assert {counter: number for counter, (_, number) in sums.items()} == {
                counter: INSTANCES[target][block(counter)] for counter in chosen
            }
            compared += len(chosen)
    assert compared == len(expected) * len(counters)
    assert sum(expected[-1][counter] > 0 for counter in counters) > len(counters) / 3


@pytest.mark.parametrize("target, wave_cycles, fine", [("gfx942", 79, 184), ("gfx90a", 74, 185)])
def test_the_level_of_waves_is_summed_over_cycles(target, wave_cycles, fine, aqlprofile, repository, tmp_path):
    """After SQ_LEVEL_WAVES, SQ_ACCUM_PREV_HIRES counts cycles, and SQ_ACCUM_PREV quad-cycles like SQ_WAVE_CYCLES. After
    anything else both are 0.
    """
    compile_hip(f"--offload-arch={target}", "-O3", repository / "testbed" / "vcopy.hip", "-o", tmp_path / "vcopy")
    program = [str(tmp_path / "vcopy"), "-n", "65536", "-b", "256", "-i", "1"]
    (*_, last) = counted_by_aqlprofile(
        aqlprofile, tmp_path, target, program, ["SQ:5", f"SQ:{fine}", f"SQ:{wave_cycles}", "SQ:4", "SQ:1"]
    )
    level, cycles, quads, waves, other = (int(one.split("/")[0]) for one in last)
    assert (level, waves, other) == (0, 1024, 0) and quads > 0 and abs(cycles - 4 * quads) <= 4
    (*_, last) = counted_by_aqlprofile(aqlprofile, tmp_path, target, program, ["SQ:5", "SQ:1", f"SQ:{wave_cycles}"])
    assert last[1] == last[2]
