"""Figures for the device's speed: the printed values are those measured, and start-up does not count."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "device.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("device_benchmark", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_start_up_does_not_count(benchmark):
    assert benchmark.slope(lambda times: 0.3 + 0.002 * times, 40) == pytest.approx(0.002)


def test_rates_and_ratios_as_printed(benchmark):
    found = {
        "fma_f32": {"here": 25e-9, "against": 100e-9},
        "vcopy": {"here": 0.2, "against": 0.3, "host": 0.004},
    }
    rows = [line.split() for line in benchmark.text(found).splitlines()]
    assert ["fma_f32", "40.00", "10.00", "4.00", "-"] in rows
    assert ["vcopy", "200.00", "300.00", "4.000", "50", "75", "-"] in rows


def test_without_another_build_its_columns_are_empty(benchmark):
    found = {"fma_f32": {"here": 25e-9}, "vcopy": {"here": 0.2, "host": 0.004}}
    rows = [line.split() for line in benchmark.text(found).splitlines()]
    assert ["fma_f32", "40.00", "-", "-", "-"] in rows and ["vcopy", "200.00", "-", "4.000", "50", "-", "-"] in rows


def test_every_class_is_a_kernel_of_the_program(benchmark):
    text = SCRIPT.with_suffix(".hip").read_text()
    assert all(f"LOOP({name}," in text and f"NAMED({name})" in text for name in benchmark.CLASSES)


def test_a_number_of_repeats_completes_a_command(benchmark):
    kernels = benchmark.testbed_kernels(Path("/folder/device"))
    vcopy = kernels["vcopy"]
    assert vcopy.command == [str(benchmark.TESTBED / "vcopy"), "-n", "4194304", "-i"]
    assert vcopy.host == ["/folder/device", "host-vcopy", "4194304"] and (vcopy.repeats, vcopy.host_repeats) == (2, 40)
    on = {"here": lambda command: 0.5 + 0.01 * int(command[-1])}
    benchmark.seconds_of, before = lambda command, environment: 0.1 + 0.002 * int(command[-1]), benchmark.seconds_of
    try:
        row = benchmark.one_round(Path("/folder/device"), "vcopy", vcopy, on)
    finally:
        benchmark.seconds_of = before
    assert row == {"here": pytest.approx(0.01), "host": pytest.approx(0.002)}
    assert benchmark._repeated(["laplace3d", "64", benchmark.REPEATS, "0"], 7) == ["laplace3d", "64", "7", "0"]


def test_hecbenchs_versions_are_built_from_the_files_in_their_makefiles(benchmark, tmp_path, monkeypatch):
    for name in benchmark.HECBENCH:
        for version in ("hip", "omp"):
            folder = tmp_path / "src" / f"{name}-{version}"
            folder.mkdir(parents=True)
            (folder / "Makefile").write_text(f"source = {name}.{version} other.{version}\nCFLAGS := -w -I../x -I../y\n")
    built = []
    monkeypatch.setattr(benchmark.subprocess, "run", lambda command, cwd, check: built.append((command, cwd)))
    kernels = benchmark.hecbench_kernels(tmp_path, Path("/built"))
    assert [*kernels] == benchmark._hecbench_names() and len(built) == 12
    (command, folder), (host, _) = built[8:10]
    assert folder == tmp_path / "src" / "nbody-hip" and command[0] == "hipcc" and host[0] == "g++"
    assert command[-6:] == ["-I../x", "-I../y", "nbody.hip", "other.hip", "-o", "/built/nbody-hip"]
    assert kernels["hecbench nbody"].command == ["/built/nbody-hip", "1024", benchmark.REPEATS]
    assert kernels["hecbench nbody"].host == ["/built/nbody-omp", "1024", benchmark.REPEATS]


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--only", "hecbench nbody"], "HeCBench's programs need --hecbench CHECKOUT"),
        (["--hecbench", "/nowhere"], "/nowhere is no checkout of HeCBench: it has no folder src"),
    ],
)
def test_hecbenchs_programs_need_a_checkout(benchmark, monkeypatch, capsys, arguments, told):
    monkeypatch.setattr(sys, "argv", ["device.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        benchmark.main()
    assert capsys.readouterr().err.endswith(f"error: {told}\n")
