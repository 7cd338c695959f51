"""What the measurement decides, by hand: every time is given, so that each condition has a case on both sides."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.measurement import measurement_check
from rocm_perf_lab.gate.measurement.measurement_check import (
    MeasurementOptions,
    check_measurement,
    in_words,
    rejection_if_too_slow,
    time_on_captured_inputs,
)
from rocm_perf_lab.gate.measurement.speedup_interval import Ratio
from rocm_perf_lab.gate.measurement.timed_replays import OtherInputs, ReplayOptions, ReplayTimes

OTHERS = [OtherInputs("zeros", ()), OtherInputs("large", ())]
SAVED, MODELLED = "of the kernel's time saved", "of the kernel's time saved, modelled"
LESS = "less than the required 2.0%"
CODES = types.SimpleNamespace(candidate=types.SimpleNamespace(packet=lambda capture: None))


@pytest.fixture
def checked(monkeypatch):
    """checked(candidate's ms in each setting, ...) -> the step's verdict; the baseline takes 1 ms in each."""

    def check(*candidate, least=0.1, modelled=True, others=(), captures=2, baseline=None, counted=None, **options):
        asked = []

        def times(_captures, _codes, settings, replays):
            asked.extend(settings)
            check.replays = replays
            found = [one if isinstance(one, list) else [one] for one in candidate]
            assert len(settings) == len(found)
            return [
                ReplayTimes(baseline or [1.0] * len(one), one, [None] * (captures if counted is None else counted))
                for one in found
            ]

        monkeypatch.setattr(measurement_check, "times", times)
        monkeypatch.setattr(measurement_check, "is_modelled", lambda _capture: modelled)
        monkeypatch.setattr(measurement_check, "min_milliseconds", lambda _target, _work: least / captures)
        monkeypatch.setattr(measurement_check, "DispatchWork", types.SimpleNamespace(of=lambda *_: None))
        concern = options.pop("concern", None)
        given = [types.SimpleNamespace(target="gfx942")] * captures
        verdict = check_measurement(given, CODES, [1] * captures, MeasurementOptions(seed=3, **options), concern, others)
        return verdict, asked

    return check


def outcome(verdict) -> tuple[str, str]:
    return verdict.outcome.value, verdict.reason


def test_all_captures_are_timed_and_then_other_inputs_of_the_first(checked):
    verdict, asked = checked(0.5, 0.5, 0.6, 0.7, others=OTHERS)
    assert [one.dispatches for one in asked] == [2, 2, 1, 1] and [one.other_inputs for one in asked] == [None, None, *OTHERS]
    assert asked[0].device_options == () and asked[1].device_options[0].startswith("timed-cu=")
    assert asked[2].device_options == asked[3].device_options == ()
    evidence = verdict.evidence
    assert (evidence.baseline_ms, evidence.candidate_ms) == ([1.0], [0.5])
    assert evidence.ratio_on_captured_inputs == evidence.ratio_on_another_cu == 0.5
    assert (evidence.ratio, evidence.other_inputs.case, evidence.other_inputs.ratio) == (0.7, "large", 0.7)
    assert evidence.least_ms == pytest.approx(0.1) and evidence.cold_caches and evidence.timing == "modelled"


@pytest.mark.parametrize(
    "candidate, options, expected",
    [
        ((0.75, 0.75), {}, ("passed", f"25.00% {MODELLED}")),
        ((0.98, 1.0), {}, ("passed", f"2.00% {MODELLED}")),
        ((0.99, 0.99), {}, ("rejected", f"1.00% {MODELLED}: {LESS}")),
        ((0.99, 0.99), {"min_improvement": 0.01}, ("passed", f"1.00% {MODELLED}")),
        ((1.5, 1.0), {}, ("rejected", f"50.00% slower, modelled: {LESS}")),
        (
            (0.5, 1.25),
            {},
            ("rejected", f"25.00% slower on a compute unit other than the first (on the first: 50.00% {MODELLED})"),
        ),
        (
            (0.5, 0.5, 0.75, 0.5),
            {"others": OTHERS},
            ("passed", f"25.00% {SAVED} on other inputs (zeros; 50.00% {SAVED} on the captured ones), modelled"),
        ),
        ((0.5, 0.5, 0.5, 0.5), {"others": OTHERS}, ("passed", f"50.00% {MODELLED}")),
        ((0.5, 0.5, 0.25, 0.25), {"others": OTHERS}, ("passed", f"50.00% {MODELLED}")),
        (
            (0.5, 0.5, 1.0, 0.5),
            {"others": OTHERS},
            ("rejected", f"0.00% {SAVED} on other inputs (zeros; 50.00% {SAVED} on the captured ones), modelled: {LESS}"),
        ),
        ((0.05, 0.05), {}, ("rejected", "0.050000 ms is less than its work takes on any such device (0.100000 ms)")),
        ((0.1, 0.1), {}, ("passed", f"90.00% {MODELLED}")),
        (
            (0.92, 0.92),
            {"concern": "it spills"},
            ("rejected", f"8.00% {MODELLED}, and it spills: at least 10% of the time must be saved to make up for it"),
        ),
        ((0.875, 0.875), {"concern": "it spills"}, ("passed", f"12.50% {MODELLED}")),
    ],
)
def test_modelled_times(checked, candidate, options, expected):
    assert outcome(checked(*candidate, **options)[0]) == expected


def test_replays_follow_the_options(checked):
    checked(0.5, 0.5)
    assert checked.replays == ReplayOptions(rounds=7, iterations=10, timeout=120, device="auto", view=View())
    view = View((Path("/data"),))
    checked(0.5, 0.5, rounds=2, iterations=3, timeout=9, device="gfx942", view=view)
    assert checked.replays == ReplayOptions(2, 3, 9, "gfx942", view)
    assert MeasurementOptions() == MeasurementOptions(seed=0, confidence=0.95, min_improvement=0.02)


def test_the_other_compute_unit_is_drawn_with_the_seed():
    units = {measurement_check._timed_cus(seed)[1][0] for seed in range(40)}
    numbers = [int(one.removeprefix("timed-cu=")) for one in units]
    assert len(units) > 30 and min(numbers) >= 1 and 1000 < max(numbers) < 1 << 16


def test_each_capture_has_its_own_counts(checked):
    with pytest.raises(ValueError):
        checked(0.5, 0.5, counted=1)


def test_the_slow_end_of_the_interval_of_measured_times_counts(checked):
    verdict, asked = checked([0.5, 0.5, 0.5, 0.5, 0.5], modelled=False)
    assert [one.device_options for one in asked] == [()] and verdict.evidence.ratio_on_another_cu is None
    assert outcome(verdict) == ("passed", "50.00% of the kernel's time saved, measured")
    spread = [0.9, 0.9, 1.1, 0.9, 1.1, 0.9, 0.9]
    verdict, _ = checked(spread, modelled=False)
    step, reason = outcome(verdict)
    assert step == "rejected" and "10.00% of the kernel's time saved (from 10.00% saved to 10.00% slower), measured" in reason
    assert verdict.evidence.ratio_interval == (0.9, 1.1) and verdict.evidence.confidence == 0.95
    # A single run below the least time is enough.
    assert outcome(checked([0.5, 0.05, 0.5], modelled=False)[0])[1].startswith("0.050000 ms is less than its work takes")


def test_a_candidate_that_fails_is_rejected(checked, monkeypatch):
    def fails(*_):
        raise ReplayFailedError("a fault", "")

    checked(0.5, 0.5)
    monkeypatch.setattr(measurement_check, "times", fails)
    verdict = check_measurement([None], CODES, [1])
    assert outcome(verdict) == ("rejected", "it fails while it is measured: a fault")
    assert time_on_captured_inputs([None], CODES, MeasurementOptions()) is None


@pytest.mark.parametrize("ms, said", [(0.5, None), (0.98, None), (0.99, f"1.00% {MODELLED}: {LESS}")])
def test_the_first_time_alone_may_reject(checked, monkeypatch, ms, said):
    checked(ms, 0.5)
    monkeypatch.setattr(measurement_check, "times", lambda _captures, _codes, settings, _replays: [ReplayTimes([1.0], [ms])])
    verdict = rejection_if_too_slow([None, None], CODES, MeasurementOptions())
    assert (verdict is None) == (said is None)
    if said is not None:
        assert outcome(verdict) == ("rejected", said)
        assert verdict.evidence.ratio_on_captured_inputs == ms and verdict.evidence.candidate_ms == [ms]
    found = time_on_captured_inputs([None, None], CODES, MeasurementOptions())
    assert (found.ratio, found.ratio_interval, found.timing, found.cold_caches) == (ms, (ms, ms), "modelled", True)


def test_on_a_gpu_a_first_time_says_too_little(checked):
    checked([0.5], modelled=False)
    assert (
        time_on_captured_inputs([None], CODES, MeasurementOptions()) is None
        and rejection_if_too_slow([None], CODES, MeasurementOptions()) is None
    )


@pytest.mark.parametrize(
    "ratio, words",
    [
        ((0.5, 0.5, 0.5), "50.00% of the kernel's time saved"),
        ((1.0, 1.0, 1.0), "0.00% of the kernel's time saved"),
        ((1.25, 1.25, 1.25), "25.00% slower"),
        ((0.75, 0.625, 0.875), "25.00% of the kernel's time saved (12.50% to 37.50%)"),
        ((1.25, 1.125, 1.5), "25.00% slower (12.50% to 50.00%)"),
        ((0.9, 0.8, 1.0), "10.00% of the kernel's time saved (0.00% to 20.00%)"),
        ((0.9, 0.8, 1.1), "10.00% of the kernel's time saved (from 20.00% saved to 10.00% slower)"),
        ((1.1, 0.9, 1.2), "10.00% slower (from 10.00% saved to 20.00% slower)"),
    ],
)
def test_a_ratio_in_words(ratio, words):
    assert in_words(Ratio(*ratio, 0.95)) == words
