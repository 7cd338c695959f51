"""`rocm-perf run` gives the program the device and otherwise stays out of its way."""

import os

import pytest


@pytest.fixture
def run(rocm_perf, inert_native):
    def run(*arguments, **options):
        environment = inert_native | options.pop("extra", {})
        return rocm_perf("run", "--device", "gfx942", *arguments, environment=environment, **options)

    return run


def test_exit_status_is_passed_through(run):
    assert run("sh", "-c", "exit 7").returncode == 7
    assert run("sh", "-c", "kill -9 $$").returncode == 137
    assert run("true").returncode == 0


def test_standard_streams_belong_to_the_program(run):
    done = run("cat", input="question", stdin=None)
    assert (done.stdout, done.stderr) == ("question", "")


def test_options_after_the_program_belong_to_it(run):
    assert run("echo", "--device", "--help").stdout == "--device --help\n"


def test_rocr_sees_the_software_device(run, tmp_path):
    """The program itself reads the topology, which is gone afterwards."""
    shown = 'echo "$HSA_TOOLS_LIB"; echo "$HSA_MODEL_LIB"; echo "$ROCR_VISIBLE_DEVICES.$HSA_TOOLS_ROCPROFILER_V1_TOOLS"'
    script = f"{shown}; cat $HSA_MODEL_TOPOLOGY/nodes/1/properties"
    done = run("sh", "-c", script, extra={"ROCR_VISIBLE_DEVICES": "5", "HSA_MODEL_TOPOLOGY": "/wrong"})
    tools, model, visible, *properties = done.stdout.splitlines()
    assert tools == model and os.path.basename(model) == "librocmperf_device.so"
    assert visible == ".1"  # without it, AMD's builds of ROCr would not load these tools together with a profiler's
    assert "gfx_target_version 90402" in properties
