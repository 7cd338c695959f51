"""AMD's own rocprofv3 on the software device: it records the same as the built-in tracer.

rocprofiler-sdk is in no package registry. RPL_ROCPROFV3 names an installed rocprofv3, whose libraries must be found without
LD_LIBRARY_PATH. Without it, these tests are skipped; tests/collect/test_rocprofv3.py uses a stand-in.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.arch.counter_passes import counter_passes, pack
from rocm_perf_lab.arch.counters import known_counters

PROGRAMS = {
    "vcopy": ("-n", 262144, "-b", 256, "-i", 2),
    "softmax": ("--rows", 256, "--cols", 256),
    "pipeline": (),
    "reduction": ("--type", "int", "--kernel", "lds"),
}
FLUSHES = {"gfx942": ("--device-option", "flush-l2"), "gfx90a": ("--device-option", "flush-l2"), "gfx1030": ()}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def rocprofv3() -> Path:
    named = os.environ.get("RPL_ROCPROFV3")
    if not named:
        pytest.skip("RPL_ROCPROFV3 names no rocprofv3")
    assert Path(named).is_file(), named
    return Path(named)


@pytest.fixture
def program(repository, tmp_path):
    """program("vcopy", "gfx90a"): the words of a command."""

    def compiled(name: str, target: str) -> list[str]:
        compile_hip(f"--offload-arch={target}", "-O3", repository / "testbed" / f"{name}.hip", "-o", tmp_path / name)
        return [str(tmp_path / name), *map(str, PROGRAMS[name])]

    return compiled


def rows(database: Path, query: str) -> list[tuple]:
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchall()


def traced(rocm_perf_in, folder: Path, target: str, words: list[str], *options: object) -> Path:
    """The database of the built-in tracer."""
    rocm_perf_in(folder, "profile", "--no-deep-analysis", "--runs", 1, "--device", target, *options, "-o", "own", *words)
    return folder / "own" / ".rocpd_profile" / "base_results.db"


def by_rocprofv3(rocm_perf_in, rocprofv3: Path, folder: Path, target: str, words: list[str], *options: object) -> Path:
    """The database of rocprofv3."""
    given = ("--output-format", "rocpd", "-d", folder / "theirs", "-o", "out")
    rocm_perf_in(folder, "run", "--device", target, rocprofv3, *options, *given, "--", *words)
    return folder / "theirs" / "out_results.db"


DISPATCHES = """
    SELECT s.display_name, d.grid_size_x, d.grid_size_y, d.grid_size_z, d.workgroup_size_x, d.workgroup_size_y,
           d.workgroup_size_z, d.group_segment_size, d.private_segment_size,
           s.arch_vgpr_count, s.accum_vgpr_count, s.sgpr_count, d.end - d.start
    FROM rocpd_kernel_dispatch d JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id ORDER BY d.dispatch_id"""
COPIES = "SELECT size, end - start FROM rocpd_memory_copy ORDER BY start"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", FLUSHES)
def test_dispatches_and_copies_equal_those_of_the_tracer(target, name, rocprofv3, program, rocm_perf_in, tmp_path):
    words = program(name, target)
    traces = ("--kernel-trace", "--memory-copy-trace", "--hip-trace")
    theirs = by_rocprofv3(rocm_perf_in, rocprofv3, tmp_path, target, words, *traces)
    own = traced(rocm_perf_in, tmp_path, target, words)
    assert len(rows(own, DISPATCHES)) > 1 and rows(theirs, DISPATCHES) == rows(own, DISPATCHES)
    assert rows(theirs, COPIES) == rows(own, COPIES)
    calls = rows(theirs, "SELECT DISTINCT s.string FROM rocpd_region r JOIN rocpd_string s ON s.id = r.name_id")
    assert {"hipMalloc", "hipLaunchKernel"} <= {call for (call,) in calls}


@pytest.mark.parametrize("name", ["vcopy", "softmax"])
@pytest.mark.parametrize("target", FLUSHES)
def test_every_counter_equals_that_of_the_tracer(target, name, rocprofv3, program, rocm_perf_in, tmp_path):
    words = program(name, target)
    query = "SELECT dispatch_id, counter_name, sum(counter_value) FROM pmc_events GROUP BY 1, 2"
    own = {(dispatch, counter): value for dispatch, counter, value in rows(
        traced(rocm_perf_in, tmp_path, target, words, *FLUSHES[target]), query)}  # fmt: skip
    counters = [one.name for one in known_counters() if one.on_software(target) and target in one.hardware]
    compared = 0
    for number, chosen in enumerate(pack(counters)):
        folder = tmp_path / str(number)
        folder.mkdir()
        theirs = rows(by_rocprofv3(rocm_perf_in, rocprofv3, folder, target, words, "--pmc", *chosen), query)
        assert {counter for _, counter, _ in theirs} == set(chosen)
        for dispatch, counter, value in theirs:
            assert value == round(own[dispatch, counter]), (dispatch, counter)
        compared += len(theirs)
    assert compared == len({dispatch for dispatch, _ in own}) * len(counters)


def test_profile_collects_with_rocprofv3(rocprofv3, program, rocm_perf_in, tmp_path, monkeypatch):
    """The base run, the counter passes, and why there is no thread trace where its decoder is not installed."""
    words = program("softmax", "gfx942")
    monkeypatch.setenv("PATH", f"{rocprofv3.parent}:{os.environ['PATH']}")
    options = ("profile", "--device", "gfx942")
    done = rocm_perf_in(tmp_path, *options, "--collector", "rocprofv3", "-o", "theirs", *words)
    assert "no thread trace: rocprof-trace-decoder is not installed" in done.stderr
    rocm_perf_in(tmp_path, *options, "--device-option", "flush-l2", "-o", "own", *words)
    profile = json.loads((tmp_path / "theirs" / "profile.json").read_text())
    counted = [one for one in profile["passes"] if one["kind"] == "counters"]
    assert profile["timing"] == "modelled" and profile["gpu"]["software_device"] == "software gfx942"
    assert len(counted) == len(counter_passes("gfx942")) and not any(one["missing"] for one in counted)
    theirs, own = (
        {one["kernel"]: one for one in json.loads((tmp_path / run / "analysis.json").read_text())["kernels"]}
        for run in ("theirs", "own")
    )
    assert theirs.keys() == own.keys() and len(own) > 2
    for kernel, found in theirs.items():
        assert found["counters"] and found["counters"].items() <= own[kernel]["counters"].items(), kernel
        assert found["operational_intensity"] == own[kernel]["operational_intensity"]


@pytest.mark.parametrize("form", ["json", "csv", "rocpd"])
def test_all_files_of_rocprofv3_are_read_as_modelled(form, rocprofv3, program, rocm_perf_in, tmp_path):
    words = program("vcopy", "gfx942")
    given = ("--kernel-trace", "--output-format", form, "-d", tmp_path / "theirs", "-o", "out", "--")
    rocm_perf_in(tmp_path, "run", "--device", "gfx942", rocprofv3, *given, *words)
    (trace,) = [file for file in (tmp_path / "theirs").iterdir() if "agent" not in file.name]
    assert "MODELLED: no GPU ran this" in rocm_perf_in(tmp_path, "analyze", trace).stdout


def test_events_match_the_table_of_rocprofv3(rocprofv3):
    """counters.toml names the same event for each counter and target."""
    yaml = pytest.importorskip("yaml")
    definitions = rocprofv3.parents[1] / "share" / "rocprofiler-sdk" / "counter_defs.yaml"
    found = {}
    for counter in yaml.safe_load(definitions.read_text())["rocprofiler-sdk"]["counters"]:
        for definition in counter["definitions"]:
            for target in definition["architectures"]:
                found[counter["name"], target] = definition.get("event", definition.get("expression"))
    for one in known_counters():
        for target, event in one.events.items():
            named = found[one.name, target]
            summed = re.fullmatch(r"reduce\((\w+),sum\)", str(named))
            assert event == (found[summed[1], target] if summed else named), (one.name, target)
