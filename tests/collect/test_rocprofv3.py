"""A machine with a GPU and rocprofv3, both stood in for: the whole command line from the program to the JSON."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from rocm_perf_lab.arch.family import family_of

# The only thing that is changed in the command line's process: the GPU that its kernel driver shows.
WITH_A_GPU = """
from rocm_perf_lab.collect import gpu
gpu.find = lambda: gpu.Gpus(("gfx942",), None)
from rocm_perf_lab.cli import main
main()
"""


@pytest.fixture
def profile(tmp_path):
    """profile(*arguments, **environment) on that machine; .calls are rocprofv3's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = Path(__file__).with_name("stand_in_rocprofv3.py")
    (programs / "rocprofv3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    (programs / "rocprofv3").chmod(0o755)
    (tmp_path / "work").mkdir()

    def run(*arguments, **environment):
        machine = {"PATH": f"{programs}:{os.environ['PATH']}", "STAND_IN_CALLS": f"{tmp_path}/calls"}
        done = subprocess.run(
            [sys.executable, "-c", WITH_A_GPU, "profile", *arguments],
            cwd=tmp_path / "work", env=os.environ | machine | environment,
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
        calls = tmp_path / "calls"
        done.calls = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        return done

    return run


def run_folder(tmp_path):
    return sorted(path.name for path in (tmp_path / "work").iterdir())


def test_json_is_all_of_stdout_and_equals_the_files(profile, tmp_path):
    done = profile("--json", "echo", "hello", "--world")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert list(result) == ["profile", "roofline", "dag", "analysis", "run_directory"]
    assert "hello --world" in done.stderr
    directory = tmp_path / "work" / result.pop("run_directory")
    assert directory.name == "echo.rocm-perf"
    for name, document in result.items():
        assert json.loads((directory / f"{name}.json").read_text()) == document
    assert result["profile"]["kernel"]["name"].startswith("scale")
    assert result["profile"]["runtime_ms"] == pytest.approx((40_000 + 5_000 + 39_000) / 1e6)
    assert result["profile"]["stability"]["runs"] == 3


def test_json_is_what_the_schema_says(profile, rocm_perf):
    schema = json.loads(rocm_perf("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    result = json.loads(profile("--json", "true").stdout)
    validator.validate(result)
    result["profile"]["stability"]["runs"] = "three"
    assert [list(error.absolute_path) for error in validator.iter_errors(result)] == [["profile", "stability", "runs"]]


def test_base_run_repeats_and_counter_passes_are_separate_runs(profile, tmp_path):
    done = profile("--runs", "2", "true")
    assert done.returncode == 0, done.stderr
    traced = [call for call in done.calls if call["pmc"] is None]
    counted = [call["pmc"] for call in done.calls if call["pmc"] is not None]
    assert [call["application"] for call in done.calls] == [["true"]] * len(done.calls)
    assert len(traced) == 2
    assert all(call["kernel_trace"] and call["memory_copy_trace"] and call["hip_trace"] for call in traced)
    assert {name for names in counted for name in names} == set(family_of("gfx942").counters())
    traces = tmp_path / "work" / "true.rocm-perf" / ".rocpd_profile"
    databases = {path.name for path in traces.glob("*.db")}
    passes = {f"counters_{number}_results.db" for number in range(1, len(counted) + 1)}
    assert databases == {"base_results.db", "repeat_1_results.db"} | passes


def test_a_counter_that_the_gpu_lacks_is_null_with_a_reason_and_costs_no_other(profile):
    done = profile("--json", "true", STAND_IN_UNKNOWN="TCC_BUBBLE_sum")
    assert done.returncode == 0, done.stderr
    assert "TCC_BUBBLE_sum was not collected" in done.stderr
    collected = {name for call in done.calls for name in call["pmc"] or [] if "TCC_BUBBLE_sum" not in call["pmc"]}
    assert collected == set(family_of("gfx942").counters()) - {"TCC_BUBBLE_sum"}
    assert "TCC_BUBBLE_sum" in json.dumps(json.loads(done.stdout)["roofline"])


def test_databases_in_folders_of_their_own_are_found(profile, tmp_path):
    assert profile("true", STAND_IN_SUBFOLDER="1").returncode == 0
    assert (tmp_path / "work/true.rocm-perf/.rocpd_profile/counters_1_results.db").exists()


def test_quiet_prints_the_runtime_only(profile):
    done = profile("--quiet", "echo", "hello")
    assert float(done.stdout) == pytest.approx(0.084)


def test_the_report_goes_to_stdout_after_the_programs_output(profile):
    done = profile("echo", "hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hello\n") and "scale" in done.stdout and "echo.rocm-perf" in done.stdout
    assert "\x1b" not in done.stdout


def test_two_profiles_differ_in_nothing_but_what_is_specific_to_a_run(profile):
    first, second = (json.loads(profile("--json", "true").stdout) for _ in range(2))
    for document in (first, second):
        document["profile"].pop("run")
    assert first == second


def test_a_database_that_was_broken_off_names_the_way_out(profile, tmp_path):
    done = profile("true", STAND_IN_JOURNAL="1")
    assert done.returncode == 71 and "--no-rocprof" in done.stderr.splitlines()[-1]
    assert run_folder(tmp_path) == []


def test_the_programs_exit_status_is_told_not_rocprofs(profile, tmp_path):
    done = profile("sh", "-c", "exit 3")
    assert done.returncode == 31 and "sh exited with status 3" in done.stderr
    assert run_folder(tmp_path) == []
