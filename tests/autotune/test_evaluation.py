"""An error that is not the fault of a configuration is not recorded as its result."""

from __future__ import annotations

import json
import types

import pytest

from rocm_perf_lab.autotune.evaluation import Evaluation, GpuTimer, WallTimer
from rocm_perf_lab.autotune.evaluation_outcome import BUILD_FAILED, OK
from rocm_perf_lab.autotune.program import TunedProgram
from rocm_perf_lab.autotune.space_file import read_space
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import NoKernelsError, OutputError
from rocpd_database import Dispatch, write


@pytest.fixture
def evaluation(tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"status": [0, 1]}}))
    program = TunedProgram(read_space(tmp_path / "space.json"), "true", "sh -c 'exit {status}'")
    (tmp_path / "scratch").mkdir()
    return Evaluation(program, [WallTimer()], 1, 60, tmp_path / "scratch")


def test_only_the_end_of_the_output_of_a_build_is_kept(evaluation, tmp_path):
    build = "sh -c 'yes é | head -c 40000002; echo the reason; exit 1{status}'"
    program = TunedProgram(read_space(tmp_path / "space.json"), "true", build)
    outcome = Evaluation(program, [WallTimer()], 1, 60, tmp_path / "scratch")({"status": 1})
    assert outcome.status == BUILD_FAILED and outcome.reason.endswith("é é the reason") and len(outcome.reason) < 400


def test_a_full_disk_ends_the_search_and_not_the_configuration(evaluation, monkeypatch):
    assert evaluation({"status": 1}).status == BUILD_FAILED
    monkeypatch.setattr("shutil.disk_usage", lambda _: types.SimpleNamespace(free=0))
    assert evaluation({"status": 0}).status == OK
    with pytest.raises(OutputError, match="no space is left"):
        evaluation({"status": 1})


def test_a_scratch_folder_that_disappeared_is_named(evaluation, tmp_path):
    (tmp_path / "scratch").rmdir()
    with pytest.raises(OutputError, match="scratch"):
        evaluation({"status": 0})


def test_builds_target_the_present_gpu_unless_they_specify_another(evaluation, tmp_path, monkeypatch):
    build = "sh -c 'test $HCC_AMDGPU_TARGET = gfx942 -a {status} = 0'"
    program = TunedProgram(read_space(tmp_path / "space.json"), "true", build)
    here = Evaluation(program, [WallTimer()], 1, 60, tmp_path / "scratch", "gfx942")
    assert here({"status": 0}).status == OK
    monkeypatch.setenv("HCC_AMDGPU_TARGET", "gfx90a")
    assert here({"status": 0}).status == BUILD_FAILED


def measured(work: list[Dispatch], folder) -> tuple[float, dict[str, int]]:
    """The timer's result for a run that a collector has recorded as `work`."""

    def record(command, environment, database, output, errors):
        write(database, work)

    device = Device(False, "gfx942", "software gfx942", {}, (), ())
    return GpuTimer(record, device).measure(["true"], {}, folder, None)


def test_the_time_of_a_run_is_the_sum_of_its_own_kernels_in_ms(tmp_path):
    work = [
        Dispatch("fill", 1_000_000, 3_500_000, workgroup=64, grid=640),
        Dispatch("sum", 4_000_000, 9_000_000, workgroup=128, grid=1280, lds=512),
        Dispatch("__amd_rocclr_copyBuffer", 9_000_000, 19_000_000),
    ]
    assert measured(work, tmp_path) == (7.5, {"vgprs": 32, "lds_bytes": 512, "workgroup_size": 128})
    assert [*tmp_path.glob("run_results*")] == []
    with pytest.raises(NoKernelsError):
        measured(work[2:], tmp_path)
