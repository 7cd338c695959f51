"""The software device as a different product and with different timing parameters: effects and refused values."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.arch.timing_parameters import timing_parameters
from rocm_perf_lab.collect import device
from rocm_perf_lab.errors import UsageError

pytestmark = pytest.mark.usefixtures("native_dir")


@pytest.fixture
def profiled(testbed, tmp_path, rocm_perf_in):
    """profiled(name, options...) -> the kernels' times in ns, the agent's compute units, and the parameters' hash."""

    def profiled(name: str, *options: str) -> tuple[list[int], int, str]:
        run = tmp_path / name
        done = rocm_perf_in(tmp_path, "profile", "--json", "--runs", 1, "-o", run, *options, testbed("vcopy"), "-n", 4000000)
        with sqlite3.connect(run / ".rocpd_profile" / "base_results.db") as database:
            times = [row[0] for row in database.execute("select duration from kernels order by start")]
            (info,) = database.execute("select extdata from rocpd_info_agent where type = 'GPU'").fetchone()
        return times, json.loads(info)["cu_count"], json.loads(done.stdout)["profile"]["timing_parameters"]

    return profiled


def test_parameters_and_products_change_times_and_are_named(profiled):
    usual, compute_units, table = profiled("usual", "--device", "gfx942")
    slower, _, slow = profiled("slower", "--device", "gfx942", "--device-option", "timing.launch_overhead_ns=5000")
    overhead = timing_parameters()["launch_overhead_ns"]["value"]
    assert [after - before for before, after in zip(usual, slower, strict=True)] == [5000 - overhead] * len(usual)
    assert compute_units == 304 and table != slow and len(slow) == len(table) == 16
    smaller, compute_units, _ = profiled("smaller", "--device", "mi300a")
    assert compute_units == 228 and smaller[-1] > usual[-1]


@pytest.mark.parametrize(
    "option, words",
    [
        ("timing.hbm=1", "no adjustable parameter of that name; use timing.hbm_gbps"),
        ("timing.cus_per_xcd=1", "no adjustable parameter of that name"),
        ("timing.hbm_gbps=0", "not a positive whole number"),
        ("timing.hbm_gbps=-1", "not a positive whole number"),
        ("timing.hbm_gbps=", "not a positive whole number"),
        ("timing.hbm_efficiency=0.0", "not a positive number"),
        ("timing.hbm_efficiency=1e5", "not a positive number"),
        ("timing.xcds=9", "whole number of at most 8"),
    ],
)
def test_unknown_parameters_and_values_are_refused(option, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        device.select(device.SOFTWARE_TARGET, tmp_path, [option])


def test_tools_that_the_user_loads_come_after_those_of_this_project(tmp_path):
    chosen = device.select(device.SOFTWARE_TARGET, tmp_path)
    mine = chosen.environment({"HSA_TOOLS_LIB": "libtheirs.so /else/where/librocmperf_device.so"}, (Path("/t/mine.so"),))
    own = str(chosen.tools[0])
    assert mine["HSA_TOOLS_LIB"].split() == [own, "/t/mine.so", "libtheirs.so"]
    assert chosen.environment(mine)["HSA_TOOLS_LIB"].split() == [own, "/t/mine.so", "libtheirs.so"]


def test_the_device_itself_refuses_invalid_options(testbed, tmp_path):
    for option, words in {"timing.hbm=1": "is not an adjustable parameter", "timing.xcds=9": "out of range"}.items():
        environment = device.select(device.SOFTWARE_TARGET, tmp_path / option).environment({"PATH": "/usr/bin"})
        done = subprocess.run(
            [testbed("vcopy")], env=environment | {"ROCM_PERF_DEVICE_OPTIONS": option}, capture_output=True, text=True
        )
        assert done.returncode != 0 and words in done.stderr
