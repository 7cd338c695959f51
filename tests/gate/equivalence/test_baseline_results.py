"""What the baseline does on other inputs, and which of them are no fault of a candidate's; a function stands for the kernel."""

from __future__ import annotations

import json
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.equivalence import baseline_results
from rocm_perf_lab.gate.equivalence.baseline_results import DEPENDS_ON_ORDER, BaselineResults, expect_success, replay_with
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs, NumberArgument
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.hip_source.layout import Leaf, TypeLayout
from rocm_perf_lab.replaying import CaseOutcome

IN, OUT, N = 0x1000, 0x2000, 0x9000
NUMBERS = np.arange(1, 9, dtype=np.float32)
LAYOUT = TypeLayout("float", 4, (Leaf("", 0, "float32"),))
BUFFERS = [Buffer("in", "in", IN, LAYOUT, 8), Buffer("out", "out", OUT, LAYOUT, 8)]
LARGER = "dropped: it fails with a size that is larger than the buffers were made for"
OUTSIDE = "dropped: with these inputs, the baseline itself depends on what lies outside its buffers"
POISONED = ["captured inputs, outputs filled with 0xa5", "captured inputs, outputs filled with 0xff"]


def doubled(memory, case):
    """The baseline: out = 2 in. memory: address -> bytes; the result is what it leaves in `out`, also with its time, or why it
    fails.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return (2 * np.frombuffer(memory[IN], np.float32)).tobytes()


class Device:
    """Replays cases by a function of (memory, case), and keeps all cases."""

    def __init__(self, capture, kernel):
        self.capture, self.kernel, self.cases, self.asked = capture, kernel, [], []

    def replay_cases(self, capture, cases, folder, **asked):
        self.asked.append(asked)
        self.cases += cases
        return [self._outcome(case, Path(folder) / f"{len(self.cases)}-{number}") for number, case in enumerate(cases)]

    def _outcome(self, case, folder: Path) -> CaseOutcome:
        memory = {address: self.capture.memory(address, 32) for address in (IN, OUT)} | dict(case.overlays)
        if case.poison is not None:
            memory[OUT] = bytes([case.poison] * 32)
        left = self.kernel(memory, case)
        folder.mkdir(parents=True)
        if isinstance(left, str):
            return CaseOutcome(folder, None, left)
        left, ms = left if isinstance(left, tuple) else (left, 1.0)
        region = {"base": f"{OUT:#x}", "bytes": 32, "changed_bytes": 32, "file": "out"}
        (folder / "outputs.json").write_text(json.dumps({"regions": [region]}))
        (folder / "out").write_bytes(left)
        return CaseOutcome(folder, ms, None, equal=True)


@pytest.fixture
def reference(monkeypatch, in_memory, tmp_path):
    """reference(kernel, numbers passed by value, timing, options) -> (the reference, its device)."""

    def make(kernel=doubled, numbers=(), timing="modelled", **options):
        contents = {IN: NUMBERS.tobytes() + bytes(32), OUT: NUMBERS.tobytes()}
        capture = in_memory(
            contents, {OUT: (2 * NUMBERS).tobytes()}, allocations={IN: [(IN, 32)]}, origin={"timing": timing}
        )  # fmt: skip
        device = Device(capture, kernel)
        monkeypatch.setattr(baseline_results, "replay_cases", device.replay_cases)
        asked = {"device": "gfx942", "seed": 3, "race_seeds": (5, 6), "instruction_limit": 77, "timeout": 9} | options
        made = BaselineResults(capture, KernelInputs(BUFFERS, list(numbers)), EquivalenceOptions(**asked), tmp_path)
        return made, device

    return make


def named(made: BaselineResults, name: str):
    return next(one for one in made.cases if one.name == name)


def other(made: BaselineResults):
    """Any case of other inputs."""
    return named(made, "observed range")


FAILED = CaseOutcome(Path(), None, "a fault")


def test_the_captured_inputs_come_first_with_other_contents_of_the_outputs(reference):
    made, device = reference()
    assert [one.name for one in made.cases[:3]] == ["captured inputs", *POISONED]
    first, *poisoned = (one.case for one in made.cases[:3])
    assert first.compare and first.poison is None and [one.poison for one in poisoned] == [0xA5, 0xFF]
    assert all(one.perturbation is None for one in made.cases[:3]) and all(one.perturbation for one in made.cases[3:])
    assert device.asked[0]["timeout"] == 9 and device.asked[0]["hsaco"] is None and device.asked[0]["seconds"] is None
    assert device.asked[0]["device_options"] == ["kernel-limit=77", "memory-check"] and device.asked[0]["device"] == "gfx942"
    assert len(device.cases) == len(made.cases) and made.seconds > 0


def test_outputs_are_left_poisoned_and_poisoned_again_unless_they_hold_results(reference):
    made, _ = reference()
    others = [one for one in made.cases if one.perturbation]
    assert [one.case.poison for one in others[:7]] == [None, 0xA5, 0xFF, None, 0xA5, 0xFF, None]
    held = [one for one in others if one.perturbation.on_results]
    assert held and all(one.case.poison is None for one in held)


@pytest.mark.parametrize("level, kinds", [("sampled", {"shuffled", "nearby values"}), ("full", None)])
def test_a_level_for_few_cases_has_one_of_each_kind(reference, level, kinds):
    made, _ = reference(level=level)
    names = {one.name for one in made.cases[3:]}
    assert names == kinds if kinds else len(names) > 30
    assert bool(made.cases_with_numbers((7.0,))) == (level == "full")


def test_a_gpu_has_neither_limits_nor_options(reference):
    _, device = reference(timing="measured", level="sampled")
    assert device.asked[0]["device_options"] == []


def test_cases_on_which_the_baseline_fails_are_no_cases(reference):
    def fails_on_zeros(memory, case):
        return "a fault" if (np.frombuffer(memory[IN], np.float32) == 0).all() else doubled(memory, case)

    made, _ = reference(fails_on_zeros)
    name = next(one.name for one in made.cases if one.name.startswith("nothing but zeros"))
    assert named(made, name).outcome.failure == "a fault"
    usable = [one.name for one in made.usable_cases()]
    assert name not in usable and usable[:3] == ["captured inputs", *POISONED] and "shuffled" in usable
    made.inconclusive_reasons |= {"shuffled": "dropped", "zeros": None}
    usable = [one.name for one in made.usable_cases()]
    assert "shuffled" not in usable and "zeros" in usable


def test_results_on_captured_inputs_are_always_held_against_a_candidate(reference):
    made, _ = reference()
    assert [made.why_inconclusive(one, FAILED) for one in made.cases[:3]] == [None] * 3 and made.inconclusive_reasons == {}


def test_a_correct_baseline_gives_the_only_right_result(reference):
    made, device = reference()
    one, count = other(made), len(device.cases)
    assert made.why_inconclusive(one, FAILED) is None and made.why_inconclusive(one, one.outcome) is None
    around, *orders = device.cases[count:]
    assert around.overlays[: len(one.case.overlays)] == one.case.overlays and around.overlays[-1][0] == IN + 32
    assert len(orders) == 2 and all(case.device_options for case in orders)  # asked once


def test_what_lies_outside_the_buffers_may_decide(reference):
    def reads_behind(memory, case):
        return bytes([len(memory) - 2] * 32)

    def faults_there(memory, case):
        return "a fault" if IN + 32 in memory else doubled(memory, case)

    for kernel in (reads_behind, faults_there):
        made, _ = reference(kernel)
        one = other(made)
        assert made.why_inconclusive(one, one.outcome) == made.why_inconclusive(one, FAILED) == OUTSIDE
        assert made.inconclusive_reasons == {one.name: OUTSIDE}


def test_the_order_may_decide_and_excuses_no_failure(reference):
    def by_order(memory, case):
        return bytes([len(case.device_options)] * 32)

    made, _ = reference(by_order)
    one = other(made)
    assert made.why_inconclusive(one, one.outcome) == DEPENDS_ON_ORDER and made.why_inconclusive(one, FAILED) is None


def test_a_run_that_fails_in_another_order_says_nothing(reference):
    def fails_in_order(memory, case):
        return "a fault" if case.device_options else doubled(memory, case)

    made, _ = reference(fails_in_order)
    assert made.why_inconclusive(other(made), other(made).outcome) is None


def test_on_a_gpu_the_baseline_runs_twice_more(reference):
    made, device = reference(timing="measured")
    count = len(device.cases)
    assert made.why_inconclusive(other(made), FAILED) is None
    assert [one.device_options for one in device.cases[count:]] == [()] * 3  # first with other bytes around


def test_a_kernel_that_may_reach_past_a_buffer_may_read_what_it_writes(reference):
    def reads_output(memory, case):
        return memory[OUT]

    made, device = reference(reads_output)
    one = other(made)
    assert made.why_inconclusive(one, one.outcome) is None
    beyond = replace(one, name="beyond", perturbation=replace(one.perturbation, may_leave_buffers=True))
    count = len(device.cases)
    assert made.why_inconclusive(beyond, beyond.outcome) == DEPENDS_ON_ORDER
    assert [case.poison for case in device.cases[count:]] == [*[one.case.poison] * 3, None]
    made, _ = reference()
    one = other(made)
    beyond = replace(one, name="beyond", perturbation=replace(one.perturbation, may_leave_buffers=True))
    assert made.why_inconclusive(beyond, beyond.outcome) is None


@pytest.mark.parametrize("beyond, numbers, why", [(True, ("n",), LARGER), (True, (), None), (False, ("n",), None)])
def test_a_larger_size_excuses_a_failure_and_no_other_result(reference, beyond, numbers, why):
    made, _ = reference()
    one = other(made)
    larger = replace(one, name="larger", perturbation=replace(one.perturbation, may_leave_buffers=beyond, numbers=numbers))
    assert made.why_inconclusive(larger, FAILED) == why and made.why_inconclusive(larger, larger.outcome) is None


def test_a_tolerance_counts_for_the_baseline_s_own_results_too(reference):
    def a_little_by_order(memory, case):
        left = np.frombuffer(doubled(memory, case), np.float32)
        return np.nextafter(left, np.float32(np.inf)).tobytes() if case.device_options else left.tobytes()

    for ulps, why in ((0, DEPENDS_ON_ORDER), (1, DEPENDS_ON_ORDER)):  # bytes of no known type must be the same
        made, _ = reference(a_little_by_order, ulps=ulps)
        assert made.why_inconclusive(other(made), other(made).outcome) == why and made.ulps == ulps


def test_a_dropped_case_is_tried_part_by_part(reference):
    number = NumberArgument("n", N, "int32", 64)
    made, _ = reference(numbers=[number])
    parts = made.parts_of(named(made, "nearby values"))
    assert {one.name.partition(" = ")[0] for one in parts} == {
        f"nearby values of {one}" for one in ("in", "out", "n")
    }  # fmt: skip
    assert made.parts_of(named(made, "nearby values")) is parts and made.parts_of(made.cases[0]) == []
    assert [one for one in made.usable_cases() if one in parts] == parts
    assert {one.name for one in parts} <= {one.name for one in [*made.usable_cases()]}


def test_parts_of_what_the_baseline_fails_on_are_tried_at_once(reference):
    number = NumberArgument("n", N, "int32", 64)

    def fails(memory, case):
        return "a fault" if N in memory and IN in dict(case.overlays) else doubled(memory, case)

    made, _ = reference(fails, numbers=[number])
    names = [one.name for one in made.cases]
    assert named(made, "nearby values").outcome.failure
    assert "nearby values of in" in names and any(name.startswith("nearby values of n = ") for name in names)


def test_parts_of_values_nearby_with_too_little_to_do_are_tried_at_once(reference):
    def takes(memory, case):
        as_captured = memory[IN] == NUMBERS.tobytes()
        return doubled(memory, case), 4.0 if as_captured and case.poison is None else 1.5

    made, _ = reference(takes, numbers=[NumberArgument("n", N, "int32", 64)])
    assert "nearby values of in" in [one.name for one in made.cases]


def test_a_case_takes_its_share_of_the_longest_run(reference, monkeypatch):
    clock = iter([5.0, 6.0, 200.0, 200.03125])
    monkeypatch.setattr(baseline_results, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    made, _ = reference()
    assert made.seconds == 1.0 / len(made.cases)
    made.cases_with_numbers((7.0,))
    assert made.seconds == 1.0 / len(made.cases)


def test_numbers_that_a_candidate_names_are_tried_under_the_race_check(reference):
    made, device = reference(numbers=[NumberArgument("n", N, "int32", 64)])
    found = made.cases_with_numbers((7.0,))
    assert "7 everywhere, which the candidate names" in [one.name for one in found] and made.cases_with_numbers((7.0,)) is found
    assert all(one.case.findings and one.case.device_options == ("race-check=0", "unordered-atomics") for one in found)
    assert {one.case.poison for one in found} == {None, 0xA5, 0xFF}
    made, _ = reference(timing="measured")
    assert all(not one.case.findings and one.case.device_options == () for one in made.cases_with_numbers((7.0,)))
    assert made.cases_with_numbers(()) == []


@pytest.mark.parametrize("computes, expected", [(True, True), (False, False)])
def test_nans_are_open_where_the_baseline_computes(reference, monkeypatch, computes, expected):
    made, _ = reference()
    (made.capture.path / "kernel.hsaco").write_bytes(b"image")
    asked = []
    monkeypatch.setattr(baseline_results, "parse", lambda image: types.SimpleNamespace(target=image.decode()))
    monkeypatch.setattr(baseline_results, "computes_with_floats", lambda *words: asked.append(words) or computes)
    monkeypatch.setattr(baseline_results, "speaks_to_the_host", lambda *words: asked.append(words) or not computes)
    races = ["race in LDS", "x: the host may see what is written"]
    nans = made.nans_on(other(made))
    assert (nans is not None) == made.computes_with_floats == expected
    if nans is not None:
        values = np.frombuffer(np.uint32([0x7FC00000, 0xFFC00123]).tobytes(), np.float32)
        assert nans.same(values[:1], values[:1]).tolist() == [True] and nans.same(values[1:], values[1:]).tolist() == [False]
    assert made.races_that_matter(races) == (races[:1] if computes else races)
    assert asked == [(b"image", "_Z1kPi", "image")] * 2


def test_what_was_there_before_is_without_the_poison(reference):
    made, _ = reference()
    one = next(
        one for one in made.cases if one.perturbation and one.case.poison and dict(one.case.overlays).keys() == {IN, OUT}
    )
    overlays = dict(one.case.overlays)
    inputs = made.inputs_on(one)
    assert inputs(IN, 32).tobytes() == overlays[IN] and inputs(OUT, 32).tobytes() == overlays[OUT]
    assert made.inputs_on(made.cases[1])(OUT, 32).tobytes() == NUMBERS.tobytes()


def test_orders_take_turns_and_neighbours_have_other_contents(reference):
    made, _ = reference()
    orders = made.runs_in_other_orders(5)
    assert [name for name, _ in orders] == ["order 5", "order 6"] * 2 + ["order 5"]
    assert [options[:2] for _, options in orders] == [(f"race-check={n}", "unordered-atomics") for n in (5, 6, 5, 6, 5)]
    fills = [options[2] for _, options in orders]
    assert all(one != two for one, two in zip(fills, fills[1:], strict=False)) and "initial-values=0" in fills  # one is shorter
    assert made.runs_in_other_orders(0) == []


def test_what_no_case_has_shown_is_unproven(reference):
    made, _ = reference()
    found = {one.name: "equal" for one in made.cases}
    assert [one.name for one in made.unproven_inputs(found)] == []
    assert [one.name for one in made.unproven_inputs({})] == ["in"]  # the other is only written
    parts = made.parts_of(named(made, "nearby values"))
    assert [one.name for one in made.unproven_inputs({parts[0].name: "equal"})] == []
    assert list(made.same_memory_unproven(found)) == []


def test_a_candidate_is_replayed_with_its_own_code_in_its_time(reference, in_memory, tmp_path):
    made, device = reference()
    made.replay([made.cases[0].case], tmp_path / "candidate", ReplayableCode(tmp_path / "code"), 12.5)
    assert (device.asked[-1]["hsaco"], device.asked[-1]["seconds"]) == (tmp_path / "code", 12.5)
    replay_with(EquivalenceOptions(), made.capture, [made.cases[0].case], tmp_path / "other")
    assert (device.asked[-1]["hsaco"], device.asked[-1]["seconds"]) == (None, None)


def test_the_baseline_may_not_fail_on_what_was_captured():
    outcome = CaseOutcome(Path(), 1.0, None)
    assert expect_success(outcome) is outcome
    with pytest.raises(ReplayFailedError, match="a fault"):
        expect_success(FAILED)
