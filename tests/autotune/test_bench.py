"""Which device the configurations run on, how they are timed there, and how often."""

from __future__ import annotations

import json
import types

import pytest

from rocm_perf_lab.autotune.bench import Plan, bench_of
from rocm_perf_lab.autotune.evaluation import GpuTimer, WallTimer
from rocm_perf_lab.collect import collector
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import UnavailableError


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """bench(there, **options of a plan) -> (the bench, its timers, the notes); None stands for no device."""

    def select(choice, scratch):
        if found is None:
            raise UnavailableError("there is none", "")
        return found

    def choose(_name, _device, _scratch, _timeout, _note, *, counters):
        assert not counters  # only times are needed
        return types.SimpleNamespace(trace=None)

    def run(there: Device | None, /, **options):
        nonlocal found
        found = there
        (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": [1]}}))
        plan, notes = Plan(tmp_path / "space.json", "true {a}", **options), []
        with bench_of(plan, plan.program()[1], notes.append) as made:
            return made.tuning_device, made.evaluation, notes

    found: Device | None = None
    monkeypatch.setattr(devices, "select", select)
    monkeypatch.setattr(collector, "choose_collector", choose)
    return run


SOFTWARE, HARDWARE = (Device(is_hardware, "gfx942", "a device", {}, (), ()) for is_hardware in (False, True))


@pytest.mark.parametrize(
    "device, options, timers, is_modelled, runs",
    [
        (SOFTWARE, {}, [GpuTimer, WallTimer], True, 1),
        (SOFTWARE, {"measure": "gpu"}, [GpuTimer], True, 1),
        (SOFTWARE, {"measure": "wall"}, [WallTimer], False, 3),
        (SOFTWARE, {"runs": 5}, [GpuTimer, WallTimer], True, 5),
        (HARDWARE, {}, [GpuTimer, WallTimer], False, 3),
        (HARDWARE, {"measure": "gpu"}, [GpuTimer], False, 3),
        (HARDWARE, {"measure": "wall", "runs": 1}, [WallTimer], False, 1),
    ],
)
def test_modelled_times_are_taken_once_and_measured_ones_three_times(bench, device, options, timers, is_modelled, runs):
    found, evaluation, notes = bench(device, **options)
    assert [type(one) for one in evaluation._timers] == timers and all(one.device is device for one in evaluation._timers)
    assert (found.description, found.target) == ("a device", "gfx942")
    assert (found.is_modelled, found.runs, evaluation._runs, evaluation._target, notes) == (
        is_modelled,
        runs,
        runs,
        "gfx942",
        [],
    )


@pytest.mark.parametrize("measure", ["auto", "wall"])
def test_without_a_device_the_process_is_timed(bench, measure):
    found, evaluation, notes = bench(None, measure=measure, timeout=7.0)
    (timer,) = evaluation._timers
    assert (type(timer), timer.device, timer.timeout) == (WallTimer, None, 7.0)
    assert (found.description, found.target, found.is_modelled, found.runs) == ("no GPU", None, False, 3)
    assert notes == ["no device can be used: measuring the wall time of processes"]


@pytest.mark.parametrize("options", [{"measure": "gpu"}, {"device": "gfx942"}, {"device": "MI210"}])
def test_a_requested_device_must_exist(bench, options):
    with pytest.raises(UnavailableError):
        bench(None, **options)
