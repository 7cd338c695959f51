"""The outcome of launches that another process repeats, derived from its output, its reports and its exit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.cage.limits import CageResult
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import kernel_failures
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.gate.triton_kernel import device as device_of_launches
from rocm_perf_lab.gate.triton_kernel import repeated_launches
from rocm_perf_lab.gate.triton_kernel.device import software_device
from rocm_perf_lab.gate.triton_kernel.recorded_launch import ArgumentWord, RecordedArgument, RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repetition

LAUNCH = RecordedLaunch(
    name="k", code="c" * 64, grid=[1, 1, 1], threads=64, shared=0, scratch_bytes=[], buffers=[],
    arguments=[RecordedArgument(name="n", words=[ArgumentWord(bits=7)])],
)  # fmt: skip
BOTH = b'{"ms": 1.5, "parameters": "f00d"}\nnoise\n{"ms": 2, "parameters": "f00d"}\n'
ONE = b'{"ms": 1.5, "parameters": "f00d"}\n'
VARIABLES = {
    "races": devices.RACES_VARIABLE,
    "foreign": devices.FOREIGN_ACCESSES_VARIABLE,
    "failures": kernel_failures.FAILURES_VARIABLE,
}


@pytest.fixture
def repeated(monkeypatch, tmp_path):
    """repeated(ended, options, reports by name) -> (outcome of two launches, arguments of the cage)."""
    asked = []

    def do(ended: CageResult, options=(), **reports: str):
        def run(command, folder, view, environment, limits):
            job = json.loads(Path(command[-1]).read_text())
            asked.append((command, folder, view, environment, limits, job))
            for name, text in reports.items():
                Path(environment[VARIABLES[name]]).write_text(text)
            return ended

        def select(name, place, options):
            asked.append((name, place, options))
            return Device(False, "gfx942", "software gfx942", {"DEVICE": "gfx942"}, (), ())

        monkeypatch.setattr(repeated_launches, "cage", SimpleNamespace(run=run))
        monkeypatch.setattr(repeated_launches.devices, "select", select)
        view = View((Path("/data"),), (Path("/out"),), trusted=True)
        repetition = Repetition("gfx942", view, tmp_path / "files", tmp_path, 120.0)
        return repetition.run([LAUNCH, LAUNCH], options), repetition, asked

    return do


def test_one_process_in_a_cage_for_all_launches(repeated, tmp_path):
    found, repetition, [(name, place, options), (command, folder, view, environment, limits, job)] = repeated(
        CageResult(0, BOTH, b"", 1.0, False), ("race-check=3",)
    )
    assert (found.ms, found.failure, found.races, found.parameters) == ([1.5, 2.0], None, [], "f00d")
    assert (name, options) == ("gfx942", (devices.MEMORY_CHECK, "race-check=3")) and place == folder
    assert command == [sys.executable, "-m", "rocm_perf_triton.recorded", str(folder / "job.json")]
    assert view.readable == (Path("/data"), folder, tmp_path / "files") and view.trusted and view.keep_env == ("PYTHONPATH",)
    assert view.writable == (found.folder, folder / "reports") and found.folder == folder / "results"
    assert environment["DEVICE"] == "gfx942" and limits.seconds == 120.0
    assert {Path(environment[variable]).parent for variable in VARIABLES.values()} == {folder / "reports"}
    assert (job["files"], job["results"]) == (str(tmp_path / "files"), str(found.folder))
    assert len(job["runs"]) == 2 and job["runs"][1]["arguments"] == [{"name": "n", "words": [{"bits": 7}]}]
    assert RecordedLaunch.model_validate(job["runs"][0]) == LAUNCH
    assert found.folder.is_dir()
    repetition.forget(found)
    assert not folder.exists()
    repetition.forget(found)


@pytest.mark.parametrize(
    "ended, reports, failure, times",
    [
        (CageResult(1, BOTH, b"", 1.0, False), {}, "it exited with status 1", 2),
        (CageResult(1, ONE, b"a\nb\nlast words\n\n", 1.0, False), {}, "last words", 1),
        (CageResult(0, ONE, b"", 1.0, False), {}, "it exited with status 0", 1),
        (CageResult(-11, b"", b"", 1.0, False), {}, "it was killed by SIGSEGV", 0),
        (CageResult(0, BOTH, b"said", 1.0, False), {"foreign": "a write to 0x10\nanother"}, "a write to 0x10", 2),
        (CageResult(1, ONE, b"said", 1.0, False), {"failures": "a fault", "foreign": "a write"}, "a fault", 1),
        (CageResult(0, BOTH, b"said", 1.0, False), {"failures": "a fault"}, None, 2),
        (CageResult(-9, ONE, b"said", 9.0, True, "ran for 120 s"), {"failures": "a fault"}, "it ran for 120 s", 1),
        (CageResult(0, BOTH, b"", 9.0, False, "wrote 33 GiB"), {}, "it wrote 33 GiB", 2),
    ],
)
def test_why_a_launch_did_not_end_well(repeated, ended, reports, failure, times):
    found, *_ = repeated(ended, **reports)
    assert (found.failure, len(found.ms)) == (failure, times)
    assert found.parameters == ("f00d" if times else None)


def test_races_come_from_the_reports(repeated):
    assert repeated(CageResult(0, BOTH, b"", 1.0, False), races="one\nother\n")[0].races == ["one", "other"]


@pytest.mark.parametrize(
    "hardware, target, usable", [(False, "gfx942", True), (True, "gfx942", False), (False, "gfx90a", False)]
)
def test_launches_are_repeated_on_one_software_device(monkeypatch, tmp_path, hardware, target, usable):
    made = Device(hardware, target, target, {}, (), ())
    monkeypatch.setattr(device_of_launches.devices, "select", lambda name, scratch: made)
    if usable:
        assert software_device(target, tmp_path) is made
    else:
        with pytest.raises(UnavailableError, match="repeated only on the software gfx942"):
            software_device(target, tmp_path)
