"""Estimates from some XCDs: true values lie within the stated errors, and values labelled exact are exact."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from rocm_perf_lab.collect.device import OBSERVE, OPTIONS_VARIABLE

SOFTMAX = ("softmax_testbed", "--rows", 8192, "--cols", 512, "--kernel", "lds")
# Programs with many similar and with different workgroups, with regular and with scattered accesses.
LARGER = (
    ("vcopy", "-n", 4194304, "-i", 2),
    ("gemm", "-n", 512, "--kernel", "naive"),
    ("gemm", "-n", 512, "--kernel", "lds"),
    ("gemm", "-n", 1024, "--kernel", "mfma"),
    ("softmax_testbed", "--rows", 65536, "--cols", 128, "--kernel", "naive"),
    ("stencil", "-n", 128, "--steps", 2),
    ("reduction", "-n", 33554432, "--kernel", "lds", "--type", "int"),
)
NO_MATTER = 0.001  # as a fraction of the requests to the L2


def values(run: Path) -> dict[tuple[int, str], tuple[float, float | None]]:
    """(dispatch, counter, or "ns") -> value, and its error if it is an estimate."""
    found: dict[tuple[int, str], tuple[float, float | None]] = {}
    with sqlite3.connect(run / ".rocpd_profile" / "base_results.db") as database:
        counters = database.execute(
            """SELECT d.dispatch_id, p.name, c.value, json_extract(c.extdata, '$.error') FROM rocpd_kernel_dispatch d
               JOIN rocpd_pmc_event c ON c.event_id = d.event_id JOIN rocpd_info_pmc p ON p.id = c.pmc_id"""
        )
        found |= {(dispatch, name): (value, error) for dispatch, name, value, error in counters}
        durations = database.execute(
            """SELECT d.dispatch_id, d."end" - d.start, json_extract(e.extdata, '$.duration_error')
               FROM rocpd_kernel_dispatch d JOIN rocpd_event e ON e.id = d.event_id"""
        )
        found |= {(dispatch, "ns"): (ns, None if error is None else error * ns) for dispatch, ns, error in durations}
    return found


def profiled(rocm_perf, folder: Path, program: tuple, observe: str, threads: int = 2) -> Path:
    done = rocm_perf(
        "profile", "--device", "gfx942", "--device-option", f"{OBSERVE}={observe}", "--runs", 1, "--no-deep-analysis", "-o",
        folder, *program, environment={"ROCM_PERF_DEVICE_THREADS": str(threads)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def check(sampled: dict, whole: dict) -> int:
    """Returns the number of estimates."""
    assert all(error is None for _, error in whole.values())
    for (dispatch, name), (value, error) in sampled.items():
        true, least = whole[dispatch, name][0], NO_MATTER * whole[dispatch, "TCC_REQ_sum"][0]
        off = abs(value - true)
        assert off <= (0 if error is None else max(error, least)), (dispatch, name, value, error, true)
    return sum(error is not None for _, error in sampled.values())


@pytest.fixture(scope="module")
def runs(testbed, tmp_path_factory, rocm_perf_in) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("sampling")
    program, *arguments = SOFTMAX
    for observe in ("sampled", "all"):
        options = ("--device", "gfx942", "--device-option", f"{OBSERVE}={observe}", "--runs", 1, "--no-deep-analysis")
        rocm_perf_in(folder, "profile", *options, "-o", folder / observe, testbed(program), *arguments)
    return folder / "sampled", folder / "all"


def test_true_values_lie_within_the_stated_errors(runs) -> None:
    sampled, whole = map(values, runs)
    assert check(sampled, whole) >= 30
    assert all(error is None for (_, name), (_, error) in sampled.items() if name.startswith("SQ_INSTS")), "those are exact"


def test_the_report_says_what_is_estimated(runs) -> None:
    sampled, whole = (json.loads((run / "analysis.json").read_text())["kernels"] for run in runs)
    (kernel,) = (kernel for kernel in sampled if "softmax" in kernel["kernel"])
    stated = kernel["sampling"]
    assert stated["dispatches"] == 1 and 0 < stated["time_error"] < 0.05
    assert set(stated["counter_errors"]) < set(kernel["counters"]) and "SQ_INSTS" not in stated["counter_errors"]
    assert any("were estimated" in note or "are estimates" in note for note in kernel["notes"])
    for kernel in whole:
        assert kernel["sampling"] is None and "observed completely" in kernel["reasons"]["sampling"]


def test_a_sample_does_not_depend_on_host_threads(runs, rocm_perf, testbed, tmp_path) -> None:
    program, *arguments = SOFTMAX
    usual = values(runs[0])
    for threads in (1, 16):
        run = profiled(rocm_perf, tmp_path / str(threads), (testbed(program), *arguments), "sampled", threads)
        assert values(run) == usual


def test_results_equal_those_of_observed_runs(rocm_perf, testbed) -> None:
    program, *arguments = SOFTMAX
    lines = [
        rocm_perf("run", testbed(program), *arguments, environment={OPTIONS_VARIABLE: f"{OBSERVE}={observe}"}).stdout
        for observe in ("sampled", "none")
    ]
    assert "checksum" in lines[0] and lines[0] == lines[1]


@pytest.mark.slow
@pytest.mark.parametrize("program", LARGER, ids=lambda program: " ".join(map(str, program)))
def test_true_values_lie_within_the_stated_errors_of_larger_programs(rocm_perf, testbed, tmp_path, program) -> None:
    words = (testbed(program[0]), *program[1:])
    sampled, whole = (values(profiled(rocm_perf, tmp_path / observe, words, observe)) for observe in ("sampled", "all"))
    assert check(sampled, whole) >= 30
