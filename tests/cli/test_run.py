"""`rocm-perf run` gives the program the device and stays out of its way otherwise."""

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


def test_standard_streams_are_the_programs_own(run):
    done = run("cat", input="question", stdin=None)
    assert (done.stdout, done.stderr) == ("question", "")


def test_options_after_the_program_belong_to_it(run):
    assert run("echo", "--device", "--help").stdout == "--device --help\n"


def test_software_device_is_what_rocr_sees(run, tmp_path):
    """The topology is read by the program itself: it is gone afterwards."""
    shown = 'echo "$HSA_TOOLS_LIB"; echo "$HSA_MODEL_LIB"; echo "$ROCR_VISIBLE_DEVICES.$HSA_TOOLS_ROCPROFILER_V1_TOOLS"'
    script = f"{shown}; cat $HSA_MODEL_TOPOLOGY/nodes/1/properties"
    done = run("sh", "-c", script, extra={"ROCR_VISIBLE_DEVICES": "5", "HSA_MODEL_TOPOLOGY": "/wrong"})
    tools, model, visible, *properties = done.stdout.splitlines()
    assert tools == model and os.path.basename(model) == "librocmperf_device.so"
    assert visible == ".1"  # without it AMD's builds of ROCr would not load the tools beside a profiler's
    assert "gfx_target_version 90402" in properties
