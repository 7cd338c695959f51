"""What the whole program's runs decide: each run is given, so that every condition has a case on either side."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import (
    ForeignAccessError,
    NoKernelsError,
    ProgramFailedError,
    ProgramKilledError,
    ProgramTimeoutError,
    UsageError,
)
from rocm_perf_lab.gate.application import application_check
from rocm_perf_lab.gate.application.application_check import ApplicationOptions, BaselineProgram, SourceText
from rocm_perf_lab.gate.application.gain_in_program import ClaimedGain
from rocm_perf_lab.gate.application.program_run import ProgramRun

RUN = ProgramRun(b"done\n", 10.0, 1000.0, "modelled", "f00d", {}, {"k": 4.0})


class Traced:
    """The runs of programs, which are files with their names. told: what came of each run, by program."""

    def __init__(self, folder: Path):
        self.folder, self.told, self.runs, self.clock = folder, {}, [], itertools.count(0.0, 1.0)

    def program(self, name: str) -> Path:
        (self.folder / name).mkdir(exist_ok=True)
        path = self.folder / name / "app"
        path.write_text(name)
        return path

    def trace(self, command, environment, database, stdout, said):
        view, limits, words = self.caged
        name = Path(words[0]).read_text()
        shown = {str(path): file.read_text() for path, file in view.replaced}
        run = SimpleNamespace(
            name=name, words=words[1:], view=view, limits=limits, shown=shown, environment=environment, command=command,
            options=self.options, limit=self.limit, place=words[0],
        )  # fmt: skip
        self.runs.append(run)
        found = self.told[name](run) if callable(self.told[name]) else self.told[name]
        if isinstance(found, tuple):
            said.write(found[1].encode())
            said.flush()
            found = found[0]
        if isinstance(found, ForeignAccessError):
            Path(environment[devices.FOREIGN_ACCESSES_VARIABLE]).write_text("a write to 0x10\nanother\n")
        elif isinstance(found, Exception):
            raise found
        else:
            stdout.write(found.stdout)
        self.found = found


@pytest.fixture
def traced(monkeypatch, tmp_path):
    world = Traced(tmp_path)

    def within(words, folder, view, limits):
        assert folder == Path.cwd()
        world.caged = view, limits, words
        return ["/cage", "--", *words]

    def select(name, folder, options=()):
        world.options = tuple(options)
        return SimpleNamespace(is_hardware=name == "gpu")

    def on(device, folder, limit):
        world.limit = limit
        return world

    def made(name, database, stdout):
        assert database.parent.is_dir() and name == "app"
        return replace(world.found, stdout=stdout)

    def copy_of_cache(folder):
        folder.mkdir(exist_ok=True)
        return {"CACHE": str(folder)}

    cage = SimpleNamespace(within=within, in_words=lambda view: "a namespace", copy_of_cache=copy_of_cache)
    monkeypatch.setattr(application_check, "cage", cage)
    monkeypatch.setattr(application_check, "BuiltinTracer", SimpleNamespace(on=on))
    monkeypatch.setattr(application_check, "read_program_run", made)
    monkeypatch.setattr(application_check.devices, "select", select)
    monkeypatch.setattr(application_check, "time", SimpleNamespace(monotonic=lambda: next(world.clock)))
    return world


@pytest.fixture
def application(traced):
    """application(the baseline's run, **options) -> the application, its arguments being "4 5"."""
    count = itertools.count()

    def make(baseline=RUN, other_arguments=(), **options):
        traced.told["old"] = baseline
        asked = ApplicationOptions(**{"device": "gfx942"} | options)
        folder = traced.folder / "runs" / str(next(count))
        return BaselineProgram(traced.program("old"), ("4", "5"), folder, asked, other_arguments)

    return make


@pytest.fixture
def checked(application, traced):
    """checked(a candidate's run, the baseline's, claim, **options) -> (outcome, reason, evidence)."""

    def check(candidate, baseline=RUN, claim=None, **options):
        own = application(baseline, **options)
        traced.told["new"] = candidate
        verdict = own.check(traced.program("new"), claim)
        return verdict.outcome.value, verdict.reason, verdict.evidence

    return check


TIMES = "10.000000 -> 10.000000 ms on the GPU, modelled"
SAME_OUTPUT = f"the program ends as before, with the same output; {TIMES}"


def test_each_run_is_caged_and_traced_from_one_place(application, traced):
    view = View((Path("/data"),), (Path("/out"),))
    own = application(view=view)
    first, second = traced.runs
    folder = traced.folder / "runs" / "0"
    for number, run in enumerate((first, second), 1):
        trace = folder / f"run-{number}" / "trace"
        assert run.words == ("4", "5") and Path(run.place) == folder / "program" / "app" and run.view.traces == trace
        assert run.view.readable == (Path("/data"), folder / f"run-{number}", folder / "compiled") and not run.view.gpu
        assert run.view.writable == (Path("/out"), folder / "compiled")
        assert run.environment["CACHE"] == str(folder / "compiled")
        assert Path(run.environment[devices.FOREIGN_ACCESSES_VARIABLE]).parent == trace
        assert run.command.argv == ("/cage", "--", run.place, "4", "5") and run.command.program == "app"
        assert run.command.executable == Path("/cage") and run.options == (devices.MEMORY_CHECK,)
        assert run.limit is None and run.limits.seconds == 86400
    (folder / "run-3").mkdir()  # of a run that was killed
    traced.told["new"] = RUN
    assert own.run(traced.program("new")) == RUN
    run = traced.runs[-1]
    assert run.name == "new" and run.view.writable == (Path("/out"),) and run.place == first.place
    assert (own.reproducible, own.runtimes_ms, own.baseline) == (True, [10.0, 10.0], RUN)


@pytest.mark.parametrize("seconds, limit", [(1.0, 60.0), (6.0, 60.0), (6.5, 65.0), (100.0, 1000.0)])
def test_a_candidate_may_take_twenty_times_as_long_but_at_least_a_minute(application, traced, seconds, limit):
    traced.clock = iter([0.0, seconds])
    own = application()
    own.run(traced.program("old"))
    run = traced.runs[-1]
    assert run.limit == limit and run.limits.seconds == limit + 60


def test_the_folder_may_be_there_already(application, traced):
    (traced.folder / "runs" / "0" / "run-1").mkdir(parents=True)
    assert application().reproducible


def test_a_limit_of_the_users_holds_for_the_baseline_too(application, traced):
    application(timeout=7.0)
    assert [(run.limit, run.limits.seconds) for run in traced.runs] == [(7.0, 67.0)] * 2


def test_a_gpu_has_no_memory_check_and_is_seen(application, traced):
    application(device="gpu")
    assert traced.runs[0].options == () and traced.runs[0].view.gpu


def test_sources_are_seen_with_the_candidates_text(application, traced):
    own = application()
    source = SourceText({Path("/a.hip"): b"one", Path("/b.h"): b"two"})
    own.check(traced.program("old"), source=source)
    assert traced.runs[-1].shown == {"/a.hip": "one", "/b.h": "two"} and traced.runs[0].shown == {}
    own = application(other_arguments=[["8"]])
    own.check(traced.program("old"), source=source)
    assert [run.shown != {} for run in traced.runs[-6:]] == [False] * 4 + [True] * 2
    own.take_as_baseline(traced.program("old"), source)
    assert traced.runs[-1].shown


@pytest.mark.parametrize(
    "error, outcome",
    [
        (ProgramFailedError("app", 3), "app exited with status 3"),
        (ProgramKilledError("app", 11), "app was killed by SIGSEGV (signal 11)"),
        (ProgramTimeoutError("app", 60), "app was still running after 60 s and was stopped"),
        (NoKernelsError("app launched no GPU kernel", ""), "app launched no GPU kernel"),
        (ForeignAccessError("app", ""), "app accesses memory outside its own: a write to 0x10"),
    ],
)
def test_a_candidate_that_ends_badly_is_rejected(checked, error, outcome):
    assert checked(error)[:2] == ("rejected", f"the program no longer succeeds: {outcome}")


def test_the_baselines_last_words_are_told_and_a_candidates_are_not(application, checked):
    said = "first\n\n  the   last  \n \n"
    for error, what in (
        (ProgramFailedError("app", 3), "exited with status 3"),
        (ProgramKilledError("app", 6), "was killed by SIGABRT (signal 6)"),
    ):
        with pytest.raises(type(error)) as failed:
            application((error, said))
        assert failed.value.problem == f"app {what} (its last words: the last)"
    with pytest.raises(ProgramFailedError) as failed:
        application((ProgramFailedError("app", 3), " \n"))
    assert failed.value.problem == "app exited with status 3"
    with pytest.raises(ProgramFailedError) as failed:
        application((ProgramFailedError("app", 3), "x" * 999))
    assert failed.value.problem == f"app exited with status 3 (its last words: {'x' * 200})"
    assert "last" not in checked((ProgramFailedError("app", 3), said))[1]


def by_turn(*outputs: bytes):
    turns = iter(outputs)
    return lambda _run: replace(RUN, stdout=next(turns))


@pytest.mark.parametrize(
    "stdout, said",
    [
        (b"done\n", None),
        (b"done", None),  # as lines it is the same, but not as bytes
        (b"other\n", "line 1 is 'other', the baseline's 'done'"),
        (b"done\nmore\nlines\n", "3 lines, the baseline 1"),
        (b"", "0 lines, the baseline 1"),
        (b"x" * 500, f"line 1 is '{'x' * 120}', the baseline's 'done'"),
    ],
)
def test_the_output_decides(checked, stdout, said):
    outcome, reason, evidence = checked(replace(RUN, stdout=stdout))
    if stdout == RUN.stdout:
        assert (outcome, reason) == ("passed", SAME_OUTPUT)
    else:
        assert (outcome, reason) == ("rejected", f"it prints something else: {said or '1 lines, the baseline 1'}")
    assert evidence.stdout_compared and evidence.arguments == [["4", "5"]] and evidence.cage == "a namespace"


def test_long_lines_of_the_baseline_are_told_in_part(checked):
    reason = checked(RUN, replace(RUN, stdout=b"same\n" + b"y" * 500))[1]
    assert reason == "it prints something else: line 1 is 'done', the baseline's 'same'"
    reason = checked(replace(RUN, stdout=b"x"), replace(RUN, stdout=b"y" * 500))[1]
    assert reason == f"it prints something else: line 1 is 'x', the baseline's '{'y' * 120}'"


def test_output_that_varies_in_the_baseline_is_not_compared(checked):
    outcome, reason, evidence = checked(replace(RUN, stdout=b"3\n"), by_turn(b"1\n", b"2\n"))
    said = f"the program ends as before (its output differs between runs of the baseline: not compared); {TIMES}"
    assert (outcome, reason) == ("passed", said) and not evidence.stdout_compared


CHECK = ("sh", "-c", 'case "$(cat)" in bad) printf "wrong\\nagain" >&2; exit 1;; odd) exit 3;; esac')


def test_the_users_check_decides_instead(checked, application):
    outcome, reason, evidence = checked(replace(RUN, stdout=b"other"), check=CHECK)
    said = f"the program ends as before, and --check accepts its output; {TIMES}"
    assert (outcome, reason) == ("passed", said) and not evidence.stdout_compared
    assert checked(replace(RUN, stdout=b"bad"), check=CHECK)[1] == "--check rejects its output: exit status 1, wrong"
    assert checked(replace(RUN, stdout=b"odd"), check=CHECK)[1] == "--check rejects its output: exit status 3"
    with pytest.raises(UsageError, match="^--check rejects the unchanged program: exit status 1, wrong"):
        application(replace(RUN, stdout=b"bad"), check=CHECK)
    with pytest.raises(UsageError, match=r"^--check /nothing cannot be run \(.*No such file.*\)"):
        application(check=("/nothing", "more"))
    with pytest.raises(UsageError, match="^--check sleep was still running after 0.01 s and was stopped"):
        application(check=("sleep", "9"), timeout=0.01)
    check = ("sh", "-c", "yes x | head -c 999 | tr -d '\\n'; exit 2")
    with pytest.raises(UsageError, match=f": exit status 2, {'x' * 200};"):
        application(check=check)


def by_words(**outputs: object):
    """What is printed with the arguments `eight`, with others `done`."""
    return lambda run: outputs["_".join(run.words)] if "_".join(run.words) in outputs else RUN


EIGHT = replace(RUN, stdout=b"8\n")


@pytest.mark.parametrize(
    "candidate, baseline, options, expected",
    [
        (by_words(eight=EIGHT), by_words(eight=EIGHT), {}, ", with the same output, also with `eight`"),
        (by_words(eight=RUN), by_words(eight=EIGHT), {}, "it prints something else: line 1 is 'done', the baseline's '8'"),
        (
            by_words(eight=replace(RUN, stdout=b"bad")),
            by_words(),
            {"check": CHECK},
            "--check rejects its output: exit status 1, wrong",
        ),
        (by_words(eight=EIGHT), by_words(), {"check": CHECK}, ", and --check accepts its output, also with `eight`"),
        (by_words(eight=ProgramFailedError("app", 2)), by_words(), {}, None),
    ],
)
def test_other_arguments_are_run_as_well(application, traced, candidate, baseline, options, expected):
    own = application(baseline, other_arguments=[["eight"]], **options)
    assert [run.words for run in traced.runs] == [("4", "5")] * 2 + [("eight",)] * 2
    traced.told["new"] = candidate
    verdict = own.check(traced.program("new"))
    assert verdict.evidence.arguments == [["4", "5"], ["eight"]]
    if expected is None:
        assert verdict.reason == "with eight the program no longer succeeds: app exited with status 2"
    elif expected.startswith(","):
        assert verdict.reason == f"the program ends as before{expected}; {TIMES}"
    else:
        assert verdict.reason == f"with eight {expected}"


def test_with_several_arguments_each_is_compared(application, traced):
    own = application(by_words(), other_arguments=[["eight"], ["a b", "c"]])
    traced.told["new"] = by_words(**{"a b_c": EIGHT})
    reason = own.check(traced.program("new")).reason
    assert reason == "with 'a b' c it prints something else: line 1 is '8', the baseline's 'done'"


@pytest.mark.parametrize("outputs", [(b"1", b"2"), (b"2", b"1")])
def test_other_output_that_varies_in_the_baseline_is_not_compared(application, traced, outputs):
    turns = iter(outputs)
    own = application(
        lambda run: replace(RUN, stdout=next(turns)) if run.words == ("eight",) else RUN, other_arguments=[["eight"]]
    )
    traced.told["new"] = by_words(eight=EIGHT)
    assert own.check(traced.program("new")).outcome.value == "passed"
    with pytest.raises(UsageError, match="^--check rejects the unchanged program with eight: exit status 1, wrong"):
        application(by_words(eight=replace(RUN, stdout=b"bad")), other_arguments=[["eight"]], check=CHECK)


GROWS = "the program's time on the GPU grows from"


@pytest.mark.parametrize(
    "changes, options, said",
    [
        ({"runtime_ms": 10.0}, {}, None),
        ({"runtime_ms": 9.0}, {}, None),
        ({"runtime_ms": 10.5}, {}, f"{GROWS} 10.000000 to 10.500000 ms, although its kernel claims a gain"),
        ({"runtime_ms": 10.6}, {}, f"{GROWS} 10.000000 to 10.600000 ms, beyond 5%"),
        ({"runtime_ms": 11.0}, {"runtime": 0.125}, None),
        ({"runtime_ms": 11.25}, {"runtime": 0.125}, None),
        ({"runtime_ms": 11.5}, {"runtime": 0.125}, f"{GROWS} 10.000000 to 11.500000 ms, beyond 12%"),
        ({"dram_bytes": 1100.0}, {}, None),
        ({"dram_bytes": 1101.0}, {}, "it moves 1101 bytes beyond L2 (baseline: 1000) and is no faster"),
        ({"dram_bytes": 1200.0}, {"dram_bytes": 0.2}, None),
        ({"dram_bytes": 5000.0, "runtime_ms": 9.0}, {}, None),
        (
            {"dram_bytes": 5000.0, "runtime_ms": 11.0},
            {"runtime": 0.5},
            "it moves 5000 bytes beyond L2 (baseline: 1000) and is no faster",
        ),
        ({"dram_bytes": None}, {}, None),
    ],
)  # fmt: skip
def test_regressions(checked, changes, options, said):
    outcome, reason, evidence = checked(replace(RUN, **changes), **options)
    assert outcome == ("passed" if said is None else "rejected") and (said is None or reason == said)
    assert evidence.runtime_ms == (10.0, changes.get("runtime_ms", 10.0))
    assert evidence.dram_bytes == (1000.0, changes.get("dram_bytes", 1000.0))
    assert (evidence.timing, evidence.timing_parameters) == ("modelled", "f00d")


def test_without_the_baselines_counters_traffic_says_nothing(checked):
    assert checked(replace(RUN, dram_bytes=9999.0), replace(RUN, dram_bytes=None))[0] == "passed"


def test_measured_times_may_be_slower_within_the_limit_and_their_medians_count(application, traced):
    measured = replace(RUN, timing="measured", timing_parameters=None)
    moved = iter([1000.0, 7.0, 1050.0, 8.0, 9.0])
    own = application(lambda _run: replace(measured, dram_bytes=next(moved)))
    times = iter([30.0, 10.25, 10.0])
    traced.told["new"] = lambda _run: replace(measured, runtime_ms=next(times), dram_bytes=next(moved, None))
    verdict = own.check(traced.program("new"))
    assert (verdict.outcome.value, verdict.evidence.runtime_ms) == ("passed", (10.0, 10.25))
    assert verdict.evidence.dram_bytes == (1000.0, 1050.0)  # of the first run of each
    times = iter([1.0, 2.0, 40.0])
    own.take_as_baseline(traced.program("new"))
    assert own.runtimes_ms == [1.0, 2.0, 40.0] and own.baseline.stdout == RUN.stdout


def test_an_accepted_program_is_the_next_baseline_but_for_its_output(application, traced):
    own = application()
    traced.told["new"] = replace(RUN, stdout=b"unlike", runtime_ms=5.0)
    own.take_as_baseline(traced.program("new"))
    assert own.runtimes_ms == [5.0] and own.baseline.stdout == b"done\n"
    assert own.check(traced.program("old")).reason == f"{GROWS} 5.000000 to 10.000000 ms, beyond 5%"
    assert own.wrong_output(b"unlike") == "it prints something else: line 1 is 'unlike', the baseline's 'done'"
    assert own.wrong_output(b"done\n") is None


@pytest.mark.parametrize(
    "after, saved, outcome, said",
    [
        (1.0, 0.5, "passed", f"{SAME_OUTPUT}, 75.00% of the kernel's time saved there"),
        (3.5, 0.5, "rejected", "it saves 50.00% of the kernel's time when replayed and 12.50% in the program"),
        (None, 0.5, "rejected", "no dispatch of the kernel was timed in the program, although a gain is claimed"),
    ],
)  # fmt: skip
def test_the_gain_is_seen_in_the_program(checked, after, saved, outcome, said):
    candidate = replace(RUN, mean_ms={} if after is None else {"k": after})
    found, reason, evidence = checked(candidate, claim=ClaimedGain("k", saved))
    assert (found, reason) == (outcome, said) and evidence.saved_when_replayed == saved
    assert evidence.kernel_ms == (None if after is None else (4.0, after))
    assert evidence.saved_in_program == (None if after is None else 1 - after / 4)
    assert checked(candidate)[2].kernel_ms is None and checked(candidate)[2].saved_when_replayed is None


def test_a_regression_comes_before_a_gain_that_is_not_seen(checked):
    assert checked(replace(RUN, runtime_ms=20.0, mean_ms={}), claim=ClaimedGain("k", 0.5))[1].startswith(GROWS)
    assert checked(replace(RUN, stdout=b"", runtime_ms=20.0))[1].startswith("it prints something else")


def test_counters_that_moved_are_named_beside_those_that_did_not(checked):
    before = replace(
        RUN,
        counters={"k": {"up": 1000.0, "near": 1000.0, "small": 0.0, "same": 5.0, "zero": 0.0, "gone": 1.0}, "m": {"x": 1.0}},
    )
    after = replace(
        RUN,
        counters={
            "k": {"up": 1001.5, "near": 1001.0, "small": 0.0005, "same": 5.0, "zero": 0.0, "new": 7.0},
            "m": {"x": 1.0},
            "n": {"y": 1.0},
        },
    )
    evidence = checked(after, before)[2]
    assert evidence.counters == {"k": {"up": (1000.0, 1001.5)}}
    assert evidence.unmoved_counters == {"k": ["near", "new", "same", "small"]}
    down = checked(replace(RUN, counters={"k": {"up": 0.0, "small": -2.0}}), before)[2]
    assert down.counters == {"k": {"up": (1000.0, 0.0), "small": (0.0, -2.0)}} and down.unmoved_counters == {"k": []}
