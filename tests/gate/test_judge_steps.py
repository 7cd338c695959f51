"""In which order a judge runs its steps and what it hands to each, with steps that say what each case wants."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate import judge as judging
from rocm_perf_lab.gate.change import SplicedSource
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.memory_difference import Difference
from rocm_perf_lab.gate.judge import STEPS, GateOptions, Judge
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.source.source_check import SourceStepResult
from rocm_perf_lab.gate.verdict import passed, rejected
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, DifferenceSection, MeasurementEvidence, SourceEvidence
from rocm_perf_lab.hip_source import HipSource

SAME_HOST = "the host's object code is the baseline's"


class World:
    """What the steps say, and what they were asked."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []
        self.says = {step: passed(step, f"{step} passed") for step in STEPS}
        self.launch = self.complaint = self.not_faster = self.host = None
        self.promises, self.concern, self.changed = NO_PROMISES, None, [11, 22]
        self.says["source"] = passed("source", "taken", SourceEvidence(kernel="k"))
        self.says["application"] = passed("application", "as before", ApplicationEvidence(timing="modelled"))

    def capture(self, index: int, code: bytes, symbol: str = "_Z1kv"):
        (file := self.folder / f"{index}.hsaco").write_bytes(code)
        packet = {"grid": [256, 1, 1], "workgroup": [64, 1, 1], "group_segment_size": 0}
        kernel = {"group_segment_size": 0}
        return SimpleNamespace(
            symbol=symbol, code_object=file, target="gfx942", kernel="k()", path=self.folder,
            dispatch={"packet": packet, "kernel": kernel, "origin": {"dispatch_index": index, "timing": "modelled"}},
        )  # fmt: skip


@pytest.fixture
def world(monkeypatch, tmp_path):
    made = World(tmp_path)

    class EquivalenceCheck:
        def __init__(self, captures, baseline, kernel, metadata, options, also):
            made.metadata = metadata

        def __enter__(self):
            return self

        def __exit__(self, *_):
            made.asked.append("closed")

        def check(self, code, added_literals, rule):
            made.asked.append(("equivalence", added_literals))
            return made.says["equivalence"]

        def outputs_of(self, index, rule):
            return SimpleNamespace(changed_bytes=made.changed[index])

        def other_inputs(self, rule):
            return ["others"]

        def compare_in_program(self, index, capture, again, rules):
            made.asked.append(("in program", index, capture))
            return made.difference, made.unlike

    made.difference, made.unlike = None, []
    kernel = SimpleNamespace(vgprs=1, sgprs=1, lds_bytes=0)

    def parse(image):
        made.asked.append(("parse", image))
        return SimpleNamespace(kernels={"_Z1kv": SimpleNamespace(**vars(kernel), of=image), "other": kernel}, target="gfx942")

    def check_source(*_):
        step = made.says["source"]
        spliced = SplicedSource(b"judged", b"plain") if step.outcome.value == "passed" else None
        return SourceStepResult(step, spliced, made.promises, made.launch)

    def check_code_object(before, after, *_, **asked):
        made.asked.append(("code object", asked))
        return made.says["code object"], made.concern

    def check_measurement(captures, codes, changed, options, concern, others):
        made.asked.append(("measurement", changed, concern, others))
        return made.says["measurement"]

    replaced = {
        "parse": parse, "EquivalenceCheck": EquivalenceCheck, "check_source": check_source,
        "check_code_object": check_code_object, "check_measurement": check_measurement, "_resident_waves": lambda *_: 8,
        "rejection_if_too_slow": lambda *_: made.not_faster, "broken_in_capture": lambda capture, *_: made.complaint,
        "instantiations": lambda code, kernel, symbol: (symbol,), "depends_on_location": lambda *_: None,
        "translation_units": SimpleNamespace(
            device_difference=lambda *_: None, makes_judged_code=lambda *_: True, host_difference=lambda *_: made.host
        ),
    }  # fmt: skip
    for name, value in replaced.items():
        monkeypatch.setattr(judging, name, value)
    return made


@pytest.fixture
def judge(world):
    """judge(options, ...) -> the judge; its baseline is one file."""
    opened = []

    def make(captures=None, whole=None, recapture=None, also=None, **options):
        baseline = HipSource(world.folder / "x.hip", ("hipcc",), world.folder, b"baseline")
        baseline.kernel = lambda name: SimpleNamespace(name=name, symbol="_Z1kv", identity="k")
        builder = SimpleNamespace(
            code_object=lambda source: source.text, called_names=lambda _: (), preprocessed=lambda _: (), host=lambda _: b""
        )
        reader = SimpleNamespace(change=lambda candidate, kernel: "change")
        captures = captures or [world.capture(0, b"first"), world.capture(1, b"second")]
        asked = GateOptions(**options)
        made = Judge(baseline, "k", captures, builder, reader, asked, whole, also or {}, recapture).__enter__()
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def told(verdict) -> dict[str, str]:
    assert [one.step for one in verdict.steps] == [*STEPS]
    return {one.step: one.outcome.value for one in verdict.steps}


def test_all_steps_in_order_and_the_text_is_kept(judge, world):
    verdict = judge().judge(b"candidate")
    assert verdict.accepted and verdict.adopted == b"plain"
    assert told(verdict) == {**dict.fromkeys(STEPS, "passed"), "application": "skipped"}


@pytest.mark.parametrize("at", ["source", "code object", "equivalence", "measurement"])
def test_after_a_rejection_nothing_runs(judge, world, at):
    world.says[at] = rejected(at, "no")
    verdict = judge(whole=lambda *_: pytest.fail("the program was built")).judge(b"candidate")
    place = STEPS.index(at)
    assert [*told(verdict).values()] == ["passed"] * place + ["rejected"] + ["skipped"] * (len(STEPS) - place - 1)
    ran = {one[0] for one in world.asked} & {"code object", "equivalence", "measurement"}
    assert ran == {one for one in STEPS[: place + 1] if one in ("code object", "equivalence", "measurement")}


def test_the_first_capture_s_code_is_the_one_that_is_known(judge, world):
    assert judge().symbol == "_Z1kv" and world.metadata.of == b"first" and ("parse", b"second") not in world.asked


def test_captures_are_of_one_kernel(judge, world):
    with pytest.raises(SourceError, match="the gate needs captures of one kernel"):
        judge([world.capture(0, b"x")], also={"8": [world.capture(1, b"x", "other")]})
    with pytest.raises(SourceError, match=r"the captures are of k\(\), not of k"):
        judge([world.capture(0, b"x", "other")])


@pytest.mark.parametrize(
    "level, changed, others", [("full", [11, 22], ["others"]), ("sampled", [11, 0], ["others"]), ("program", [0, 0], [])]
)
def test_what_was_replayed_bounds_the_time(judge, world, level, changed, others):
    world.concern = "it spills"
    judge(equivalence=EquivalenceOptions(level=level, seed=1)).judge(b"candidate")
    assert ("measurement", changed, "it spills", others) in world.asked


@pytest.mark.parametrize("launch, but", [(None, ""), ("changed", ", but for its launches")])
def test_without_the_program_the_hosts_code_alone_is_compared(judge, world, launch, but, monkeypatch):
    if launch:
        world.launch = SimpleNamespace(before=None, after=None, applied_to=lambda baseline: baseline)
        rule = Mock(mismatch_with=lambda _: None, launch=lambda *_: None)
        monkeypatch.setattr(judging, "LaunchRule", SimpleNamespace(of=lambda *_: rule))
        monkeypatch.setattr(judging, "launches_too_little", lambda *_: None)
    last = judge().judge(b"candidate").steps[-1]
    assert (last.outcome.value, last.reason) == ("skipped", f"not asked for; {SAME_HOST}{but}")
    world.host = "it differs"
    last = judge().judge(b"candidate").steps[-1]
    assert (last.outcome.value, last.reason) == ("rejected", "it differs")


def test_a_slow_candidate_is_not_compared_if_time_comes_first(judge, world):
    world.not_faster = rejected("measurement", "slower")
    assert told(judge(time_first=True).judge(b"candidate"))["equivalence"] == "skipped"
    assert told(judge(time_first=True, with_measurement=False).judge(b"candidate"))["equivalence"] == "passed"
    assert told(judge().judge(b"candidate"))["equivalence"] == "passed"


def test_without_a_measurement_nothing_is_claimed(judge, world):
    claims = []
    world.says["measurement"] = passed("measurement", "faster", MeasurementEvidence(ratio_interval=(0.25, 0.75)))

    def whole(_source, claim):
        claims.append(claim)
        return world.says["application"]

    judge(whole=whole).judge(b"candidate")
    assert told(judge(whole=whole, with_measurement=False).judge(b"candidate"))["measurement"] == "skipped"
    assert claims[0].saved == 0.25 and claims[0].symbol == "_Z1kv" and claims[1] is None


def test_a_promise_that_a_capture_breaks_is_refused(judge, world):
    world.complaint = "they overlap"
    assert judge().judge(b"candidate").steps[0].outcome.value == "passed"  # it promises nothing
    world.promises = Promises(restrict=("p",))
    verdict = judge().judge(b"candidate")
    assert verdict.rejection.step == "source"
    assert verdict.rejection.reason == "it promises __restrict__ on p, but they overlap"
    world.complaint = None
    verdict = judge().judge(b"candidate")
    assert verdict.accepted and verdict.steps[0].evidence.shown_for == [0, 1]


@pytest.mark.parametrize("seed, index", [(4, 0), (7, 1)])
def test_one_dispatch_is_compared_in_the_program(judge, world, seed, index):
    options = {"equivalence": EquivalenceOptions(seed=seed), "whole": lambda *_: world.says["application"]}

    def recapture(_source, at):
        return f"capture {at}"

    last = judge(recapture=recapture, **options).judge(b"candidate").steps[-1]
    assert ("in program", index, f"capture {index}") in world.asked
    assert last.evidence.memory_after_its_dispatch == "the same as after the baseline's dispatch"
    world.unlike = ["the pool"]
    verdict = judge(recapture=recapture, **options).judge(b"candidate")
    said = "the same as after the baseline's dispatch, except for the pool, which varies from run to run"
    assert verdict.accepted and verdict.steps[-1].evidence.memory_after_its_dispatch == said
    where = DifferenceSection(element="out[0]")
    for world.difference, expected in ((Difference("out[0] differs"), DifferenceSection()), (Difference("it", where), where)):
        last = judge(recapture=recapture, **options).judge(b"candidate").steps[-1]
        assert (last.outcome.value, last.evidence.difference) == ("rejected", expected)
        assert last.reason == f"in the program itself {world.difference.reason}"

    def fails(*_):
        raise CaptureError("no dispatch", "")

    last = judge(recapture=fails, **options).judge(b"candidate").steps[-1]
    assert last.reason == "its dispatch in the program cannot be captured: no dispatch"


@pytest.mark.parametrize(
    "outcome, level, asked", [(rejected, "full", False), (passed, "program", False), (passed, "full", True)]
)
def test_a_dispatch_is_captured_again_only_for_a_program_that_passed(judge, world, outcome, level, asked):
    world.says["application"] = outcome("application", "as it is", ApplicationEvidence(timing="modelled"))
    options = {"equivalence": EquivalenceOptions(level=level, seed=0), "whole": lambda *_: world.says["application"]}
    last = judge(recapture=lambda *_: "capture", **options).judge(b"candidate").steps[-1]
    assert last.reason == "as it is" and any(one[0] == "in program" for one in world.asked) == asked


def test_a_program_that_cannot_be_built_is_refused(judge, world):
    def fails(*_):
        raise SourceError("no such header", "")

    last = judge(whole=fails).judge(b"candidate").steps[-1]
    assert (last.outcome.value, last.reason) == ("rejected", "the program cannot be built with it: no such header")


def test_a_judgement_continues_from_a_first_time(judge, world, monkeypatch):
    monkeypatch.setattr(judging, "time_on_captured_inputs", lambda *_: SimpleNamespace(ratio=0.5))
    made = judge()
    assert made.ratio_on_captured_inputs(b"candidate") == 0.5 and made.judge(b"candidate").accepted
    assert sum(one[0] == "code object" for one in world.asked) == 1
    world.says["code object"] = rejected("code object", "no")
    assert made.ratio_on_captured_inputs(b"candidate") is None and not made.judge(b"candidate").accepted
    world.says["source"] = rejected("source", "no")
    assert made.ratio_on_captured_inputs(b"candidate") is None
