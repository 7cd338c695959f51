"""Verdict, headroom and remedies from a time stack, compared with sums over its scenarios."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from rocm_perf_lab.analysis import time_stack_verdict
from rocm_perf_lab.analysis.bottleneck import classify
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.shapley import shapley
from rocm_perf_lab.analysis.thread_trace.time_stack import LineGain, TimePart, TimeStack
from rocm_perf_lab.arch.metric import Value

COUNTED = classify(
    Evidence(
        {
            "wait_fraction": Value(0.9, "fraction"),
            "l1_accesses_per_vmem_instruction": Value(64.0, "lines"),
            "lds_conflict_fraction": Value(0.9, "fraction"),
            "partial_wave_fraction": Value(0.9, "fraction"),
        }
    )
)


def stack(costs: dict[str, float], hidden: float = 0.0) -> TimeStack:
    """For a dispatch that takes 100 plus its costs. hidden: extra time as long as any of the causes is left."""
    return stack_of(tuple(costs), lambda left: 100 + sum(costs[name] for name in left) + (hidden if left else 0))


def stack_of(names: tuple[str, ...], time: Callable[[list[str]], float]) -> TimeStack:
    """time: that of the dispatch with the given causes."""
    times = []
    for world in product((True, False), repeat=len(names)):
        times.append(round(time([name for name, there in zip(reversed(names), world, strict=True) if there])))
    parts = [
        TimePart(name, float(ns), times[0] - times[1 << i], times[-1 ^ (1 << i)] - times[-1])
        for i, (name, ns) in enumerate(zip(names, shapley(times), strict=True))
    ]
    without = {name: times[1 << i] for i, name in enumerate(names)}
    lines = (LineGain("a.hip:7", 90, {"uncoalesced": 80}), LineGain("a.hip:9", 20, {"uncoalesced": 10, "atomics": 0}))
    ordered = tuple(sorted(parts, key=lambda part: -part.ns))
    return TimeStack(times[0], ordered, times[-1], without, (), lines, names, tuple(times))


def verdict(found: TimeStack, error: float | None = 0.5):
    return time_stack_verdict.verdict(found, COUNTED, error, on_software_device=True)


def test_the_largest_part_is_the_verdict_whatever_counters_say():
    found = verdict(stack({"uncoalesced": 400, "memory-latency": 200, "vector-issue": 100}))
    assert (found.name, found.by, found.certainty) == ("uncoalesced", "experiments", "high")
    assert COUNTED.name == "latency-bound" == found.classes[0].name and found.shown_by == () and not found.undecided
    assert found.score == pytest.approx(0.5) and found.confidence == pytest.approx(400 / 600)


def test_remedies_begin_with_the_main_cause_and_end_with_the_fixed_cost():
    """Several causes and the fixed cost of the dispatch, which is the largest part but not the verdict."""
    of = stack({"barriers": 400, "atomics": 390, "launch": 450, "lds-latency": 80})
    assert verdict(of).name == "barriers"
    assert [one.cause for one in verdict(of).remedies] == ["barriers", "atomics", "lds-latency", "launch"]


def test_a_cause_hidden_behind_others_is_not_the_verdict_even_if_it_is_the_largest_part():
    """Atomics alone would take 500; two others take 300 each, and longer than atomics together."""
    others = ("memory-latency", "lds-latency")
    of = stack_of((*others, "atomics"), lambda left: 100 + max(500 * ("atomics" in left), 300 * len({*left} & {*others})))
    assert of.parts[0].cause == "atomics" and of.parts[0].first_ns == 0
    assert verdict(of).name in others and [one.cause for one in verdict(of).remedies] == [
        verdict(of).name,
        *{*others} - {verdict(of).name},
    ]


def test_conditions_that_cost_nothing_are_left_out():
    assert {"uncoalesced-access", "lds-bank-conflicts"} < {factor.name for factor in COUNTED.factors}
    found = verdict(stack({"uncoalesced": 400, "memory-latency": 200}))
    assert [factor.name for factor in found.factors] == ["uncoalesced-access", "partial-waves"]
    assert found.advice == ("make the workgroup's size a multiple of 64",)


def test_remedies_state_the_gain_of_their_experiment_the_line_and_the_error():
    of = stack({"uncoalesced": 400, "memory-latency": 200, "vector-issue": 4}, hidden=50)
    uncoalesced, latency = verdict(of).remedies
    assert (uncoalesced.cause, uncoalesced.line, uncoalesced.gain) == ("uncoalesced", "a.hip:7", pytest.approx(400 / 754))
    assert (latency.cause, latency.line) == ("memory-latency", None)
    ratio = 1 - uncoalesced.gain
    assert uncoalesced.gain_at_least == pytest.approx(1 - 1.5 * ratio) and uncoalesced.gain_at_most == pytest.approx(
        1 - ratio / 1.5
    )
    assert verdict(of, None).remedies[0].gain_at_least is None


def test_a_small_grid_says_what_a_large_one_would_be():
    found = verdict(stack({"small-grid": 600, "launch": 90, "atomics": 80, "uncoalesced": 20}))
    assert (found.name, found.on_full_device) == ("small-grid", "atomics") and "made small for" in found.why
    assert verdict(stack({"atomics": 80, "small-grid": 60})).on_full_device is None


def test_the_fixed_cost_of_a_dispatch_is_the_verdict_only_where_it_is_most_of_the_time():
    assert verdict(stack({"launch": 60, "atomics": 40})).name == "atomics"
    assert verdict(stack({"launch": 200, "atomics": 40})).name == "launch"
    assert verdict(stack({})) is COUNTED


def test_headroom_is_measured_against_a_run_without_losses():
    found = time_stack_verdict.headroom(stack({"uncoalesced": 400, "vector-issue": 100, "atomics": 300}), 9000.0, 0.5)
    assert (found.min_ns.value, found.binding, found.by) == (pytest.approx(2000.0), "vector-issue", "experiments")
    of_bytes = time_stack_verdict.headroom(stack({"uncoalesced": 400, "memory-bandwidth": 200, "beyond-l2": 100}), 8000.0, 0.5)
    assert (of_bytes.min_ns.value, of_bytes.binding) == (pytest.approx(4000.0), "memory-bandwidth")
    of_launches = time_stack_verdict.headroom(stack({"uncoalesced": 400, "launch": 100}), 6000.0, 0.5)
    assert (of_launches.min_ns.value, of_launches.binding) == (pytest.approx(2000.0), "launch")
    assert found.kernel_speedup.value == pytest.approx(4.5) and found.priority.value == pytest.approx(0.5 * 700 / 900)


def test_a_kernel_that_is_all_losses_can_lose_nearly_all_of_its_time():
    found = time_stack_verdict.headroom(TimeStack(700, (), 0, {}, (), (), ("small-grid",), (700, 0)), 1400.0, 0.5)
    assert found.fraction.value == pytest.approx(1 - 1 / 700) and found.priority.value == pytest.approx(0.5 * (1 - 1 / 700))
