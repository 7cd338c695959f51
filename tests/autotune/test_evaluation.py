"""What is no fault of a configuration is no result of it either."""

from __future__ import annotations

import json
import types

import pytest

from rocm_perf_lab.autotune.evaluation import Evaluation, WallTimer
from rocm_perf_lab.autotune.evaluation_outcome import BUILD_FAILED, OK
from rocm_perf_lab.autotune.program import TunedProgram
from rocm_perf_lab.autotune.space_file import read_space
from rocm_perf_lab.errors import OutputError


@pytest.fixture
def evaluation(tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"status": [0, 1]}}))
    program = TunedProgram(read_space(tmp_path / "space.json"), "true", "sh -c 'exit {status}'")
    (tmp_path / "scratch").mkdir()
    return Evaluation(program, [WallTimer()], 1, 60, tmp_path / "scratch")


def test_of_all_that_a_build_says_the_end_is_kept(evaluation, tmp_path):
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


def test_a_scratch_folder_that_went_away_is_named(evaluation, tmp_path):
    (tmp_path / "scratch").rmdir()
    with pytest.raises(OutputError, match="scratch"):
        evaluation({"status": 0})


def test_builds_are_for_the_gpu_that_is_there_unless_they_say_otherwise(evaluation, tmp_path, monkeypatch):
    build = "sh -c 'test $HCC_AMDGPU_TARGET = gfx942 -a {status} = 0'"
    program = TunedProgram(read_space(tmp_path / "space.json"), "true", build)
    here = Evaluation(program, [WallTimer()], 1, 60, tmp_path / "scratch", "gfx942")
    assert here({"status": 0}).status == OK
    monkeypatch.setenv("HCC_AMDGPU_TARGET", "gfx90a")
    assert here({"status": 0}).status == BUILD_FAILED
