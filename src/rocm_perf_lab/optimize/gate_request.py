"""The gate for a candidate that somebody wrote: build and run the baseline's program, capture, judge."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import MissingInputError, OutputError, SourceError
from rocm_perf_lab.gate import source_check
from rocm_perf_lab.gate.judge import STEPS
from rocm_perf_lab.gate.verdict import Outcome, StepVerdict, Verdict, rejected, skipped
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.hip_source.fingerprint import compare

from . import run_folder
from .hip_workbench import HipWorkbench
from .journal import Journal
from .source_file import digest
from .subject import Subject, find_subject
from .workbench import BenchOptions


@dataclass(frozen=True)
class GateRequest:
    """baseline: the source of the program. candidate: what would take its place. words: the program and its arguments.
    bench.pattern: of the kernel to judge, None for the one whose body differs. description: of the change, to be kept with
    the verdict where prompts find it, None to keep nothing; runs: the folder for that, None for the program's own."""

    baseline: Path
    candidate: Path
    words: tuple[str, ...] = ()
    build: str | None = None
    bench: BenchOptions = field(default_factory=BenchOptions)
    description: str | None = None
    runs: Path | None = None


def judge(request: GateRequest, note: Callable[[str], None]) -> dict[str, Any]:
    """The verdict's document and what it is of. Errors: those of the baseline and of the machine; what is wrong with the
    candidate is a verdict."""
    texts = [_content(path) for path in (request.baseline, request.candidate)]
    subject = find_subject((str(request.baseline), *request.words), None, request.build)
    runs = (request.runs or Path(subject.name + run_folder.SUFFIX)).absolute()
    if request.description is not None:
        _expect_writable(runs)
    verdict, kernel = _judged(request, subject, texts, note)
    if request.description is not None:
        _keep(runs, request, kernel, texts, verdict)
    return verdict


def _expect_writable(folder: Path) -> None:
    """Now, since a verdict takes a while."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK):
        raise OutputError(f"{folder} cannot be written", "name another folder with --runs")


def _judged(request: GateRequest, subject: Subject, texts: list[bytes], note: Callable[[str], None]) -> tuple[dict, str]:
    """The document, and the kernel's name: in the trace where it ran, else in the source."""
    about = {"baseline": str(request.baseline), "candidate": str(request.candidate), "kernel": None, "device": None}
    about |= {"timing": None, "timing_parameters": None, "equivalence": request.bench.equivalence, "ulps": request.bench.ulps}
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as scratch:
        command = subject.build.filled(subject.source.resolve(), Path(subject.name))
        baseline, candidate = (read(subject.source, command, subject.build.folder, text) for text in texts)
        kernel, step = _by_source(baseline, candidate, request.candidate)
        if step.outcome is Outcome.REJECTED:  # needs no run of the program to be known
            return about | Verdict((step, *map(skipped, STEPS[1:]))).document(), kernel
        # A pattern also keeps the kernel from being left alone because it could gain little.
        pattern = request.bench.pattern or rf"\b{re.escape(kernel)}\b"
        options = replace(request.bench, pattern=pattern)
        bench = HipWorkbench(subject, Path(scratch), options, lambda _event, **_fields: None, note)
        survey = bench.survey(baseline)
        if not survey.targets:
            raise SourceError(f"{kernel} is not among the kernels that the program launches", "give arguments that launch it")
        target = next((one for one in survey.targets if one.kernel == kernel), survey.targets[0])
        note(f"judging {request.candidate} as {target.demangled}")
        with bench.gate(baseline, target) as gate:
            verdict = gate.judge(candidate)
    times = {"timing": survey.timing, "timing_parameters": survey.timing_parameters}
    return about | {"kernel": target.demangled, "device": survey.device} | times | verdict, target.demangled


def _keep(folder: Path, request: GateRequest, kernel: str, texts: list[bytes], verdict: dict[str, Any]) -> None:
    journal = Journal(folder / run_folder.BY_HAND)
    baseline, candidate = map(digest, texts)
    diff = unified_diff(*texts, request.baseline.name)
    journal.append("proposal", candidate=candidate, description=request.description, kernel=kernel, diff=diff)
    kept = {name: verdict[name] for name in ("accepted", "steps")}
    journal.append("verdict", baseline=baseline, candidate=candidate, verdict=kept)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingInputError(f"{path}: {error.strerror}", "name an existing source file") from error


def _by_source(baseline: HipSource, candidate: HipSource, path: Path) -> tuple[str, StepVerdict]:
    """path: the candidate's own, which is read in the baseline's place.

    The kernel whose body differs (the first, if there are several), and the verdict of the gate's first step on it."""
    names = [kernel.name for kernel in baseline.kernels]
    if not names:
        raise SourceError(f"{baseline.path} has no kernel", "name the source that has the program's kernels")
    try:
        bodies = {one.before.name for one in compare(baseline.device, candidate.device) if one.kind == "body"}
        changed = next((name for name in names if name.rsplit("::", 1)[-1] in bodies), names[0])
        return changed, source_check.check_source(baseline, candidate, changed)
    except SourceError as error:
        what = error.what.replace(f"{candidate.path}:", f"{path}:")
        return names[0], rejected(source_check.STEP, f"it cannot be read: {what}")
