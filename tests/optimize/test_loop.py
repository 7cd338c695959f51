"""The loop without a device: kept decisions, and SIGKILL before every step that makes something durable."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from killed_runs import killed_before
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.errors import MissingInputError, OutputError, SourceError, TraceError
from rocm_perf_lab.gate.verdict import Verdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, MeasurementEvidence
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize import journal_lines, run_folder
from rocm_perf_lab.optimize.backend import ProfileSummary
from rocm_perf_lab.optimize.journal import Journal, event_of
from rocm_perf_lab.optimize.journal_lines import (
    ApplicationBaselineLine,
    BuildLine,
    BuildRepeatsLine,
    CaptureLine,
    EndLine,
    GateLine,
    OutcomeLine,
    ProfileLine,
    UndecidedLine,
    VerdictLine,
)
from rocm_perf_lab.optimize.loop import OptimizeLoop, OptimizeLoopOptions
from rocm_perf_lab.optimize.prediction import KernelTimeStack
from rocm_perf_lab.optimize.rejections import fingerprint_of
from rocm_perf_lab.optimize.result import JudgedCandidate
from rocm_perf_lab.optimize.targets import Target
from slow_variants import every

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).with_name("program.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942")
ORIGINAL = PROGRAM.read_bytes()
LOOPS = {"sum_rows": b"  for (int i = 0; i < columns; ++i) sum", "walk": b"  for (int i = 0; i < steps; ++i) place"}


def unrolled(text: bytes, kernel: str, factor: int) -> bytes:
    return text.replace(LOOPS[kernel], b"  #pragma unroll %d\n" % factor + LOOPS[kernel])


FINAL = unrolled(unrolled(ORIGINAL, "sum_rows", 4), "walk", 2)
# The time of each text; any other text is slower than the original.
TIMES = {ORIGINAL: 10.0, unrolled(ORIGINAL, "sum_rows", 2): 8.0, unrolled(ORIGINAL, "sum_rows", 4): 6.0, FINAL: 5.0}
UNTIMED = unrolled(FINAL.replace(b"  #pragma unroll 2\n", b""), "walk", 4)


class FakeBackend:
    """Profiles and judges by TIMES. Sources are read only once, since Clang is slow. journal: where it logs the same steps as
    the real one, so that a run can be killed there, too. parameters: those of the timing model. alike: whether its rejections
    hold for other runs.
    """

    sources: dict = {}

    def __init__(self, journal: Journal | None = None, parameters: str = "0123", alike: bool = False):
        self.judged, self.timed, self.alike = [], [], alike
        self.log = journal.append if journal else lambda line: None
        self.parameters = parameters

    def read(self, text):
        if text not in self.sources:
            self.sources[text] = read(PROGRAM, COMMAND, text=text)
        return self.sources[text]

    def profile(self, source):
        targets = [Target(name, f"{name}(int)", 1, 1.0, 0.5, 0.5, 0.25, "latency-bound") for name in LOOPS]
        self.log(BuildLine(command=["hipcc"], status=0, seconds=0.1, log=""))
        self.log(BuildRepeatsLine(same=True))
        return ProfileSummary(TIMES[source.text], "modelled", self.parameters, "none", targets, [])

    def fingerprint(self, source, target):
        return fingerprint_of(source.text, target.kernel, "" if self.alike else str(id(self)))

    @contextlib.contextmanager
    def gate(self, source, target):
        self.log(ApplicationBaselineLine(source="", runtimes_ms=[1.0], stdout_repeats=True))
        asked = {"level": "full", "seed": 1, "race_seeds": [1], "measurement_seed": 2, "max_regression": {}, "cage": "none"}
        self.log(GateLine(kernel=target.demangled, **asked))
        self.log(CaptureLine(kernel=target.demangled, dispatch=0, gpu_time_ns=1, arguments=[]))
        yield _Gate(self, source)


class _Gate:
    def __init__(self, backend, source):
        self.backend, self.before = backend, source.text

    def ratio_on_captured_inputs(self, candidate, promises):
        """Slightly better than the ratio in the verdict, as on favourable inputs; unknown for one candidate."""
        self.backend.timed.append(candidate)
        return None if candidate == UNTIMED else self._favourable(candidate)

    def _favourable(self, candidate):
        return 0.98 * TIMES.get(candidate, 11.0) / TIMES[self.before]

    def judge(self, candidate, promises):
        self.backend.judged.append(candidate)
        before, after = TIMES[self.before], TIMES.get(candidate, 11.0)
        how = passed if after < before else rejected
        first = None if candidate == UNTIMED else self._favourable(candidate)
        evidence = MeasurementEvidence(ratio=after / before, ratio_on_captured_inputs=first)
        measurement = how("measurement", "by the table", evidence)
        program = ApplicationEvidence(runtime_ms=(10.0, after), timing="modelled", timing_parameters=self.backend.parameters)
        return Verdict((measurement, passed("application", "", program)), candidate)


def optimize_loop(
    folder: Path,
    run: Path,
    backend: FakeBackend | None,
    in_place: bool = True,
    approve=lambda _: True,
    workers: int = 1,
    accept_modelled: bool = True,
    clock=time.monotonic,
    **more,
) -> OptimizeLoop:
    """backend: None for one that logs to the run's journal. more: further OptimizeLoopOptions."""
    journal = Journal(run)
    backend = backend or FakeBackend(journal)
    options = OptimizeLoopOptions((2, 4), ("unroll",), in_place=in_place, workers=workers, accept_modelled=accept_modelled)
    options = replace(options, **more)
    return OptimizeLoop(folder / "program.hip", "a test", run, journal, backend, options, approve, lambda _: None, clock)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.hip").write_bytes(ORIGINAL)
    return tmp_path


def test_the_best_change_to_each_kernel_is_kept_and_the_result_is_written_at_the_end(folder):
    outcome = optimize_loop(folder, run_folder.new_run(folder / "runs"), FakeBackend(), in_place=False).optimize()
    assert [one.judged.proposal.parameters for one in outcome.iterations] == [{"factor": 4}, {"factor": 2}]
    assert (folder / "program.hip").read_bytes() == ORIGINAL and (folder / "program.optimized.hip").read_bytes() == FINAL
    assert (outcome.baseline_ms, outcome.final_ms, outcome.improvement) == (10.0, 5.0, 0.5)


def test_the_reason_why_a_run_stops_is_given(folder):
    def stop(**more):
        backend = more.pop("backend", None) or FakeBackend()
        run = run_folder.new_run(folder / "runs")
        outcome = optimize_loop(folder, run, backend, in_place=False, **more).optimize()
        assert outcome.document().stop == outcome.stop == Journal(run).last(EndLine).stop
        return outcome.stop

    class NothingLeft(FakeBackend):
        def profile(self, source):
            return replace(super().profile(source), targets=[])

    assert stop(max_iterations=1) == "ended at --max-iters 1"
    assert stop() == "no proposal was kept for any kernel that could still gain"
    assert stop(dry_run=True) == "a dry run judges nothing"
    assert stop(backend=NothingLeft(), min_improvement=0.02) == "no kernel left that could gain 2 % or more"
    assert [entry.stop for entry in run_folder.history(folder / "runs").root][:1] == ["ended at --max-iters 1"]


@pytest.mark.parametrize("until", range(1, 12))
def test_a_budget_ends_a_run_with_the_changes_accepted_so_far(folder, until):
    """The clock advances by a second whenever it is read."""
    seconds = iter(range(1000))
    run, backend = run_folder.new_run(folder / "runs"), FakeBackend()
    clocked = optimize_loop(folder, run, backend, in_place=False, clock=lambda: next(seconds), budget_seconds=until)
    outcome = clocked.optimize()
    assert (
        outcome.final_ms
        == TIMES[backend.read((folder / "program.optimized.hip").read_bytes()).text if outcome.written else ORIGINAL]
    )
    if outcome.stop != f"the budget of {until} s is used up":
        assert until > 8 and outcome.final_ms == 5.0
    else:
        assert outcome.final_ms > 5.0 or outcome.iterations
    assert len(backend.judged) <= until


@pytest.mark.parametrize("until", [3, 4, 5])
def test_a_proposal_that_was_never_timed_has_no_measured_gain(folder, monkeypatch, until):
    """On a GPU, candidates are not timed before they are judged, and the budget may run out before that."""
    monkeypatch.setattr(_Gate, "ratio_on_captured_inputs", lambda *_: None)
    seconds = iter(range(1000))
    run = run_folder.new_run(folder / "runs")
    optimize_loop(folder, run, None, in_place=False, clock=lambda: next(seconds), budget_seconds=until).optimize()
    journal = Journal(run)
    judged = {line.candidate for line in journal.of(VerdictLine)}
    unjudged = [line for line in journal.of(OutcomeLine) if line.candidate not in judged]
    assert unjudged and {line.measured_kernel for line in unjudged} == {None}


def test_rejected_changes_are_remembered_for_later_runs(folder):
    def run_on(runs: Path, **more):
        backend = FakeBackend(alike=more.pop("alike", True))
        return backend, optimize_loop(folder, run_folder.new_run(runs), backend, in_place=False, **more).optimize()

    first, outcome = run_on(folder / "runs")
    refused = {one.proposal.description for one in outcome.candidates if isinstance(one, JudgedCandidate) and not one.accepted}
    assert refused
    second, again = run_on(folder / "runs")
    assert told(again)["iterations"] == told(outcome)["iterations"]
    assert len(second.judged) == len(first.judged) - len(refused) and set(second.judged) < set(first.judged)
    words = {one.description: one.reason for one in again.passed_over}
    assert all("rejected before, in run-0001: measurement: by the table; --judge-again" in words[one] for one in refused)
    for more in ({"judge_again": True}, {"alike": False}):
        other, _ = run_on(folder / "runs", **more)
        assert other.judged == first.judged
    (folder / "runs" / "rejected.jsonl").write_bytes(b"{damaged\n\0\xff\n")
    assert run_on(folder / "runs")[0].judged == first.judged


def test_only_candidates_that_can_still_be_the_fastest_are_judged(folder):
    backend, run = FakeBackend(), run_folder.new_run(folder / "runs")
    outcome = optimize_loop(folder, run, backend, in_place=False).optimize()
    first = [unrolled(ORIGINAL, "sum_rows", 4)]  # 2 cannot be faster: 0.98 * 8 > 6
    assert backend.judged[:1] == first and unrolled(ORIGINAL, "sum_rows", 2) in backend.timed
    assert unrolled(ORIGINAL, "sum_rows", 2) not in backend.judged
    assert UNTIMED in backend.judged  # a candidate without an earlier time is judged
    passed_over = [one for one in outcome.document().proposals if one.verdict is None]
    assert [(one.kernel, one.parameters) for one in passed_over][:1] == [("sum_rows", {"factor": 2})]
    # Every order gives the same result as judging everything.
    assert min(TIMES[one] for one in backend.judged if one in TIMES) == min(TIMES.values()) == outcome.final_ms


def test_changes_that_experiments_show_to_be_hopeless_are_not_even_timed(folder):
    """Without scalar instructions and latency, sum_rows would save 1 %, and walk half of its time."""

    class Experimenting(FakeBackend):
        def profile(self, source):
            found = super().profile(source)
            without = {"sum_rows": (1000, 995, 995, 990), "walk": (1000, 800, 700, 500)}
            alone = {"memory-latency": 1, "vector-issue": 1000, "uncoalesced": 10}  # unrolling does not improve coalescing
            stacks = {
                name: KernelTimeStack(1000, ("memory-latency", "scalar-issue"), times, {}, alone)
                for name, times in without.items()
            }
            return replace(found, targets=[replace(one, stack=stacks[one.kernel]) for one in found.targets])

    backend, run = Experimenting(), run_folder.new_run(folder / "runs")
    outcome = optimize_loop(folder, run, backend, in_place=False).optimize()
    assert all(candidate.startswith(ORIGINAL[:40]) for candidate in backend.timed)
    assert not any(unrolled(ORIGINAL, "sum_rows", factor) in backend.timed for factor in (2, 4))
    assert unrolled(ORIGINAL, "walk", 2) in backend.timed and not outcome.accepted
    assert [one.reason.partition(":")[0] for one in outcome.passed_over][0].startswith("the experiments say that it saves 1.0%")
    told = {line.description: line for line in Journal(run).of(OutcomeLine)}
    for line in told.values():
        hopeless = line.kernel.startswith("sum_rows")
        assert line.at_most_kernel == pytest.approx(0.01 if hopeless else 0.5)
        assert line.measured_kernel is None if hopeless else line.measured_kernel < 0
    assert len(told) == 4


def test_proposals_that_are_judged_in_parallel_give_the_same_result(folder):
    one, three = (
        optimize_loop(
            folder, run_folder.new_run(folder / f"runs-{workers}"), FakeBackend(), in_place=False, workers=workers
        ).optimize()
        for workers in (1, 3)
    )
    assert told(one) == told(three) and one.iterations


def test_changes_that_the_user_declines_are_not_kept(folder):
    asked = []

    def approve(judged):
        asked.append(judged.proposal.parameters["factor"])
        return False

    outcome = optimize_loop(folder, run_folder.new_run(folder / "runs"), FakeBackend(), approve=approve).optimize()
    assert asked == [4, 2] and not outcome.accepted and (folder / "program.hip").read_bytes() == ORIGINAL
    assert any("the user declined it" in one.reason for one in outcome.skipped)


def test_gains_within_the_models_error_are_kept_for_a_gpu_to_decide(folder, monkeypatch):
    """With timing parameters whose error is known: 30 % and 20 % of 10 ms are within it."""
    monkeypatch.setitem(TIMES, unrolled(ORIGINAL, "sum_rows", 4), 7.0)
    run, asked = run_folder.new_run(folder / "runs"), []
    backend = FakeBackend(parameters=table_hash())
    outcome = optimize_loop(folder, run, backend, approve=asked.append, accept_modelled=False).optimize()
    assert not asked and not outcome.accepted and (folder / "program.hip").read_bytes() == ORIGINAL
    kept = [(one.judged.proposal.parameters["factor"], one.file.read_bytes()) for one in outcome.undecided]
    assert kept == [(factor, unrolled(ORIGINAL, "sum_rows", factor)) for factor in (4, 2)]
    told = [section.model_dump() for section in outcome.document().undecided]
    assert [(one["kernel_time_ratio"], one["file"]) for one in told] == [
        (ratio, str(one.file)) for ratio, one in zip((0.7, 0.8), outcome.undecided, strict=True)
    ]
    assert [line.file for line in Journal(run).of(UndecidedLine)] == [one["file"] for one in told]
    assert "unroll the loop of line" in outcome.skipped[0].reason and ": for a GPU to decide" in outcome.skipped[0].reason


def test_gains_beyond_the_models_error_are_accepted_and_those_of_unknown_parameters_are_not(folder, monkeypatch):
    monkeypatch.setitem(TIMES, unrolled(ORIGINAL, "sum_rows", 4), 2.0)  # 80 % less
    run = run_folder.new_run(folder / "runs")
    outcome = optimize_loop(folder, run, FakeBackend(parameters=table_hash()), accept_modelled=False).optimize()
    assert [one.judged.proposal.parameters for one in outcome.iterations] == [{"factor": 4}]
    (folder / "program.hip").write_bytes(ORIGINAL)
    outcome = optimize_loop(folder, run_folder.new_run(folder / "runs"), FakeBackend(), accept_modelled=False).optimize()
    assert not outcome.accepted and "timing parameters other than" in outcome.undecided[0].judged.undecided


def test_an_edit_by_the_user_during_the_run_is_never_overwritten(folder):
    class Editing(FakeBackend):
        def profile(self, source):
            (folder / "program.hip").write_bytes(b"// mine\n")
            return super().profile(source)

    with pytest.raises(SourceError, match="changed by another program"):
        optimize_loop(folder, run_folder.new_run(folder / "runs"), Editing()).optimize()
    assert (folder / "program.hip").read_bytes() == b"// mine\n"


def started(folder: Path, in_place: bool, deadline: int) -> int:
    """A run that kills itself before the deadline-th durable step; its number of steps, or -9."""

    def loop() -> None:
        optimize_loop(folder, run_folder.new_run(folder / "runs"), None, in_place).optimize()

    return killed_before(deadline, loop, ("fsync", "replace", "fchmod", "open", "mkdir"))


def told(outcome) -> dict:
    """The report except for the places of files."""
    return {key: value for key, value in outcome.document().as_json().items() if key not in ("run", "source", "written")}


def resumable(runs: Path) -> Path:
    run_folder.sweep_after_kills(runs)
    try:
        return run_folder.unfinished(runs, "optimize")
    except MissingInputError:  # it ended before its first line
        return run_folder.new_run(runs)


def test_the_killed_steps_are_those_of_a_real_journal(folder):
    """Every event that the optimizer's code can write, except those of changes that a build borrows (test_source_file)."""
    kinds = [kind for kind in vars(journal_lines).values() if isinstance(kind, type) and issubclass(kind, journal_lines.Line)]
    not_of_the_loop = (journal_lines.Line, journal_lines.ProgramLine, journal_lines.RemeasuredLine)
    written = {event_of(kind) for kind in kinds if kind not in not_of_the_loop}
    run = run_folder.new_run(folder / "runs")
    approve = iter((True, False, False, False)).__next__
    optimize_loop(folder, run, None, accept_modelled=False).optimize()
    with contextlib.suppress(KeyboardInterrupt):
        optimize_loop(folder, run, None, approve=lambda _: interrupt()).optimize()
    optimize_loop(folder, run, None, approve=lambda _: approve()).optimize()
    seen = {entry["event"] for entry in Journal(run).entries}
    assert written == seen and len(seen) >= 15


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "failure",
    [pytest.param(OSError(errno.ENOSPC, "No space left"), id="full disk"), pytest.param(KeyboardInterrupt(), id="Ctrl-C")],
)
def test_a_full_disk_or_an_interrupt_at_any_step_leaves_complete_files_and_can_be_resumed(folder, failure, monkeypatch):
    names = ("fsync", "replace", "fchmod", "open", "mkdir")
    real = {name: getattr(os, name) for name in names}
    steps, deadline = 0, 0

    def counted(name):
        def call(*arguments, **options):
            nonlocal steps
            steps += 1
            if steps == deadline:
                raise failure
            return real[name](*arguments, **options)

        return call

    def interrupted(place: Path) -> int:
        nonlocal steps
        steps = 0
        with monkeypatch.context() as patch, contextlib.suppress(OutputError, KeyboardInterrupt):
            for name in names:
                patch.setattr(os, name, counted(name))
            optimize_loop(place, run_folder.new_run(place / "runs"), None).optimize()
        return steps

    count = interrupted(folder)
    for deadline in range(1, count + 1, 2):
        place = folder / str(deadline)
        place.mkdir()
        source = place / "program.hip"
        source.write_bytes(ORIGINAL)
        interrupted(place)
        assert source.read_bytes() in (ORIGINAL, FINAL)
        if source.read_bytes() == ORIGINAL:
            outcome = optimize_loop(place, resumable(place / "runs"), None).optimize()
            assert outcome.final_ms == 5.0 and source.read_bytes() == FINAL
        assert [path.name for path in place.iterdir() if path.name.endswith(".new")] == []


def test_a_run_is_not_resumed_with_other_timing_parameters(folder):
    run = run_folder.new_run(folder / "runs")
    with contextlib.suppress(KeyboardInterrupt):
        optimize_loop(folder, run, None, approve=lambda _: interrupt()).optimize()
    known = Journal(run).of(VerdictLine)
    assert known and Journal(run).of(ProfileLine)[0].timing_parameters == "0123"
    journal = Journal(run)
    said = "modelled with the parameters 0123, now they are modelled with the parameters 4567"
    with pytest.raises(TraceError, match=said) as seen:
        optimize_loop(folder, run, FakeBackend(journal, "4567")).optimize()
    assert "without --resume" in seen.value.hint and seen.value.exit_code == 65
    assert Journal(run).of(VerdictLine) == known and (folder / "program.hip").read_bytes() == ORIGINAL

    class Changing(FakeBackend):  # while it runs
        def profile(self, source):
            self.parameters = "0123" if source.text == ORIGINAL else "4567"
            return super().profile(source)

    with pytest.raises(TraceError, match="4567"):
        optimize_loop(folder, run_folder.new_run(folder / "runs"), Changing()).optimize()
    assert (folder / "program.hip").read_bytes() == ORIGINAL


@pytest.mark.parametrize("in_place", every(2, [True, False]))
def test_a_kill_before_any_step_leaves_complete_files_and_can_be_resumed(folder, in_place):
    for text in list(TIMES):
        FakeBackend().read(text).kernels  # noqa: B018 - read in this process, for all its children
    count = started(folder, in_place, 0)
    assert count >= 40
    (folder / "program.hip").write_bytes(ORIGINAL)
    unbroken = told(optimize_loop(folder, run_folder.new_run(folder / "unbroken"), None, in_place=False).optimize())
    for deadline in range(1, count + 1):
        place = folder / str(deadline)
        place.mkdir()
        source = place / "program.hip"
        source.write_bytes(ORIGINAL)
        source.chmod(0o640)
        assert started(place, in_place, deadline) == -9
        assert source.read_bytes() == ORIGINAL or (in_place and source.read_bytes() == FINAL)
        optimized = place / "program.optimized.hip"
        assert not optimized.exists() or (not in_place and optimized.read_bytes() == FINAL)

        run_folder.sweep_after_kills(place / "runs")
        backend = FakeBackend()
        try:
            run = run_folder.unfinished(place / "runs", "optimize")
        except MissingInputError:  # killed before its first line, or after its last
            run = run_folder.new_run(place / "runs")
            source.write_bytes(ORIGINAL)
        known = len(Journal(run).of(VerdictLine))
        outcome = optimize_loop(place, run, backend, in_place).optimize()
        verdicts = Journal(run).of(VerdictLine)
        assert len(verdicts) == len({(one.baseline, one.candidate) for one in verdicts}) == known + len(backend.judged)
        assert told(outcome) == unbroken and outcome.final_ms == 5.0
        assert (source if in_place else optimized).read_bytes() == FINAL
        assert source.read_bytes() == (FINAL if in_place else ORIGINAL) and source.stat().st_mode & 0o777 == 0o640
        run_folder.sweep_after_kills(place / "runs")
        assert [path.name for path in place.iterdir() if path.name.endswith(".new")] == []
