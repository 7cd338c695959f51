"""Remeasures the changes that a run accepted: rebuilds the programs before and after each change and runs them alternately.

The gains found on the software device are only predictions. On a GPU, this module records how they turned out, in the run's
journal and in the user's table of the model's errors.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.analysis import user_model_errors
from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import MissingInputError, UnavailableError
from rocm_perf_lab.gate.application.application_check import ENDS_BADLY, ApplicationOptions, BaselineProgram, SourceText
from rocm_perf_lab.gate.application.program_run import ProgramRun
from rocm_perf_lab.gate.measurement.speedup_interval import Ratio, ratio_of_medians
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.gate.verdict_document import Timing
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.source_state import join_state
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.journal import Journal, JournalReader
from rocm_perf_lab.optimize.journal_lines import AcceptedLine, BackupLine, BeginLine, ProgramLine, RemeasuredLine, VerdictLine
from rocm_perf_lab.optimize.remeasure_document import RemeasureDocument, RemeasuredSection
from rocm_perf_lab.optimize.run_folder import lock_run
from rocm_perf_lab.optimize.source_file import digest

_ROUNDS = 7  # on a GPU; modelled times never vary
Runs = Sequence[ProgramRun]


@dataclass(frozen=True)
class AcceptedChange:
    """An accepted change in a run. before, after: states, as in hip_source.source_state."""

    line: AcceptedLine
    verdict: Verdict
    before: bytes
    after: bytes


def remeasure(run: Path, options: BackendOptions, note: Callable[[str], None]) -> RemeasureDocument:
    """Measure the run's changes on the device given in the options, and record the results. The only options used are device,
    timeout and view.

    Raises MissingInputError if the run has nothing to measure, UnavailableError without a GPU (unless a software device is
    named), and whatever finding or building the program, or running the original one, raises.
    """
    with lock_run(_expect_run(run)):
        journal = Journal(run)
        target, changes = _target_of(journal), changes_of(journal)
        _expect_gpu(options.device)
        with _working_in(Path(target.folder)), tempfile.TemporaryDirectory(prefix="remeasured-", dir=run.absolute()) as folder:
            runs, complaints = _measure(target, changes, options, Path(folder), note)
        sections = [_section(change, runs, complaints) for change in changes]
        return _record(run, journal, changes, sections, runs[changes[0].before])


def _expect_run(run: Path) -> Path:
    if not JournalReader(run).entries:
        raise MissingInputError(
            f"{run} is not a run of `rocm-perf optimize`", "name one of those that `rocm-perf optimize --history` lists"
        )
    return run


def _target_of(journal: Journal) -> ProgramLine:
    target = journal.last(ProgramLine)
    if target is None:
        message = f"{journal.path} does not say how the program is built and started"
        raise MissingInputError(message, "run `rocm-perf optimize` on the HIP program again")
    return target


def changes_of(journal: JournalReader) -> list[AcceptedChange]:
    """The run's accepted changes, in the order of acceptance. Raises MissingInputError if there are none, or a backup is
    missing.
    """
    if not (accepted := journal.of(AcceptedLine)):
        raise MissingInputError(f"{journal.path.parent} accepted no change", "name a run that did")
    state, changes = _original_sources(journal), []
    verdicts = {
        line.candidate: Verdict.from_document(line.verdict) for line in journal.of(VerdictLine) if line.verdict.accepted
    }
    for line in accepted:
        verdict = verdicts[line.candidate]
        after = verdict.adopted or state
        changes.append(AcceptedChange(line, verdict, state, after))
        state = after
    return changes


def _original_sources(journal: JournalReader) -> bytes:
    """The sources as the run found them, from its backups."""
    begun = journal.last(BeginLine)
    source = Path(begun.source if begun else "")
    texts = {}
    for path in (Path(line.source) for line in journal.of(BackupLine)):
        folder = journal.path.parent if path == source else journal.path.parent / "others" / digest(bytes(path))[:12]
        try:
            texts[path] = (folder / "backup" / path.name).read_bytes()
        except OSError as error:
            raise MissingInputError(
                f"{folder}/backup has no {path.name} ({error.strerror})", "copy the whole folder"
            ) from error
    return join_state(texts.pop(source), texts)


def _expect_gpu(device: str) -> None:
    """Raises UnavailableError if there is no GPU, unless a software device is named."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        if not devices.select(device, Path(scratch)).is_hardware and device == devices.AUTO:
            raise UnavailableError(
                "there is no usable AMD GPU here, and modelled times add nothing to what the run knew",
                f"copy the folder to a machine with one; `--device {devices.SOFTWARE_TARGET}` repeats the modelled times",
            )


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in the folder from which the run was started, since its build refers to that folder."""
    before = Path.cwd()
    try:
        os.chdir(folder)
    except OSError as error:
        message = f"the run was started in {folder}, which is not accessible ({error.strerror})"
        raise MissingInputError(message, "restore it there") from error
    try:
        yield
    finally:
        os.chdir(before)


def _measure(
    target: ProgramLine, changes: Sequence[AcceptedChange], options: BackendOptions, folder: Path, note: Callable[[str], None]
) -> tuple[dict[bytes, Runs], dict[bytes, str]]:
    """For each state, the interleaved runs of its program and, if something is wrong with the runs or their output, a
    complaint.
    """
    build_target = find_build_target(target.program, Path(target.source), target.build)
    backend = HipBackend(build_target, folder, replace(options, seed=0), lambda _: None, note)
    states = [backend.read(state) for state in dict.fromkeys([changes[0].before, *(change.after for change in changes)])]
    note(f"building {len(states)} programs")
    programs = {source.state: backend.program(source) for source in states}
    limits = ApplicationOptions(check=tuple(target.check), timeout=options.timeout, device=options.device, view=backend.view)
    reference = BaselineProgram(programs[states[0].state], build_target.arguments, folder / "application", limits)
    return _run_interleaved(reference, programs, states, note)


def _run_interleaved(
    reference: BaselineProgram, programs: Mapping[bytes, Path], states: Sequence[HipSource], note: Callable[[str], None]
) -> tuple[dict[bytes, Runs], dict[bytes, str]]:
    runs: dict[bytes, list[ProgramRun]] = {source.state: [] for source in states}
    complaints: dict[bytes, str] = {}
    rounds = _ROUNDS if reference.baseline.timing == "measured" else 1
    note(f"running each {rounds} times, interleaved" if rounds > 1 else "running each once: modelled times do not vary")
    for _ in range(rounds):
        for source in (source for source in states if source.state not in complaints):
            texts = SourceText({source.path: source.text, **source.other_files})
            try:
                run = reference.run(programs[source.state], texts)
            except ENDS_BADLY as error:
                if source is states[0]:
                    raise
                complaints[source.state] = f"the program no longer succeeds: {error.problem}"
                continue
            runs[source.state].append(run)
            if complaint := reference.wrong_output(run.stdout):
                complaints[source.state] = complaint
    return dict(runs), complaints


def _section(change: AcceptedChange, runs: Mapping[bytes, Runs], complaints: Mapping[bytes, str]) -> RemeasuredSection:
    before, after = runs[change.before], runs[change.after]
    complaint = complaints.get(change.before) or complaints.get(change.after)
    ratio = None if complaint else _kernel_ratio(change.verdict.symbol or "", before, after)
    seen, program = change.verdict.kernel_ms, change.verdict.runtime_ms
    return RemeasuredSection(
        iteration=change.line.iteration,
        kernel=change.line.kernel,
        description=change.line.description,
        predicted=seen[1] / seen[0] if seen and seen[0] else change.verdict.ratio,
        recorded=ratio.value if ratio else None,
        interval=(ratio.low, ratio.high) if ratio else None,
        predicted_program=program[1] / program[0] if program and program[0] else None,
        recorded_program=_program_ratio(before, after) if ratio else None,
        complaint=complaint or (None if ratio else "the program's run has no times for the kernel's dispatches"),
    )


def _kernel_ratio(symbol: str, before: Runs, after: Runs) -> Ratio | None:
    times = [[run.mean_ms[symbol] for run in runs if run.mean_ms.get(symbol)] for runs in (before, after)]
    return ratio_of_medians(times[0], times[1]) if times[0] and len(times[0]) == len(times[1]) else None


def _program_ratio(before: Runs, after: Runs) -> float | None:
    first, second = (statistics.median(run.runtime_ms for run in runs) for runs in (before, after))
    return second / first if first else None


def _record(
    run: Path, journal: Journal, changes: Sequence[AcceptedChange], sections: Sequence[RemeasuredSection], first: Runs
) -> RemeasureDocument:
    """Write the results to the journal and, on a GPU, to the user's table. first: the runs of the original program."""
    like, rounds = first[0], len(first)
    timing: Timing = "measured" if like.timing == "measured" else "modelled"
    for change, section in zip(changes, sections, strict=True):
        line = RemeasuredLine(
            candidate=change.line.candidate,
            timing=timing,
            timing_parameters=like.timing_parameters,
            device=like.device,
            rounds=rounds,
            change=section,
        )
        journal.append(line)
    ratio_errors = recorded_differences(changes, sections, like.device) if timing == "measured" else []
    if ratio_errors:
        user_model_errors.add(ratio_errors)
    predicted = changes[0].verdict.program_timing
    error = error_for_differences(predicted[1] if predicted else None)
    return RemeasureDocument(
        run=str(run),
        device=like.device,
        timing=timing,
        predicted_timing="modelled" if predicted and predicted[0] == "modelled" else "measured",
        rounds=rounds,
        changes=list(sections),
        table=str(user_model_errors.table()) if ratio_errors else None,
        error_for_differences=error if isinstance(error, float) else None,
    )


def recorded_differences(
    changes: Sequence[AcceptedChange], sections: Sequence[RemeasuredSection], device: str
) -> list[user_model_errors.RecordedDifference]:
    """The rows for the user's table, one for each measured change whose gain the model had predicted."""
    rows = []
    for change, section in zip(changes, sections, strict=True):
        timing = change.verdict.program_timing
        if timing is None or timing[1] is None or not section.predicted or not section.recorded:
            continue
        rows.append(
            user_model_errors.RecordedDifference(
                digest(change.before), digest(change.after), device, timing[1], section.predicted, section.recorded
            )
        )
    return rows
