"""Without observation, programs compute the same, every kernel takes the same time, and no command uses that as a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect.device import NO_OBSERVATION, OPTIONS_VARIABLE

WITHOUT = ("--device", "gfx942", "--device-option", NO_OBSERVATION)
TESTBED = {"softmax_testbed": ("--rows", "70", "--cols", "33"), "gemm": ("-n", "48"), "histogram": ("-n", "20001")}


@pytest.fixture(scope="module")
def own_times(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("hip") / "own_times"
    source = Path(__file__).parent / "runtime" / "own_times.hip"
    compile_hip("--offload-arch=gfx942", "-O2", "-o", program, source)
    return program


def test_kernels_take_a_fixed_time_and_clocks_go_on(rocm_perf, own_times) -> None:
    observed = rocm_perf("run", "--device", "gfx942", own_times)
    little, much = map(float, observed.stdout.split())
    assert observed.returncode == 0 and much > little + 40, "100000 cycles are 48 us"
    free = rocm_perf("run", *WITHOUT, own_times)
    assert free.returncode == 0, free.stderr
    little, much = map(float, free.stdout.split())
    assert little == much < 10
    assert "observe=none: kernels are not timed; for the program, each takes 1 us" in free.stderr


@pytest.mark.parametrize("name", TESTBED)
def test_results_equal_those_of_observed_runs(rocm_perf, testbed, name: str) -> None:
    lines = []
    for options in (("--device", "gfx942"), WITHOUT):
        done = rocm_perf("run", *options, testbed(name), *TESTBED[name])
        assert done.returncode == 0, done.stderr
        lines.append([line for line in done.stdout.splitlines() if "checksum" in line])
    assert lines[0] and lines[0] == lines[1]


def test_commands_that_need_times_refuse_unobserved_runs(rocm_perf, native_dir) -> None:
    refused = rocm_perf("profile", *WITHOUT, "true")
    assert refused.returncode == 2 and "profile needs counters and times" in refused.stderr
    refused = rocm_perf("profile", "--device", "gfx942", "true", environment={OPTIONS_VARIABLE: f"lds-check,{NO_OBSERVATION}"})
    assert refused.returncode == 2 and "profile needs counters and times" in refused.stderr
    wrong = rocm_perf("run", "--device", "gfx942", "--device-option", "observe=some", "true")
    assert wrong.returncode == 2 and "it must be all, auto, sampled or none" in wrong.stderr
