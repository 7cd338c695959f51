"""The gate for a candidate that somebody wrote: build and run the baseline's program, capture, judge; nothing is kept."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import MissingInputError, SourceError
from rocm_perf_lab.gate import source_check
from rocm_perf_lab.gate.judge import STEPS
from rocm_perf_lab.gate.verdict import Outcome, StepVerdict, Verdict, rejected
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.hip_source.fingerprint import compare

from .subject import find_subject
from .workbench import BenchOptions, HipWorkbench


@dataclass(frozen=True)
class GateRequest:
    """baseline: the source of the program. candidate: what would take its place. words: the program and its arguments.
    bench.pattern: of the kernel to judge, None for the one whose body differs."""

    baseline: Path
    candidate: Path
    words: tuple[str, ...] = ()
    build: str | None = None
    bench: BenchOptions = field(default_factory=BenchOptions)


def judge(request: GateRequest, note: Callable[[str], None]) -> dict[str, Any]:
    """The verdict's document and what it is of. Errors: those of the baseline and of the machine; what is wrong with the
    candidate is a verdict."""
    texts = [_content(path) for path in (request.baseline, request.candidate)]
    subject = find_subject((str(request.baseline), *request.words), None, request.build)
    about = {"baseline": str(request.baseline), "candidate": str(request.candidate), "kernel": None, "device": None}
    about |= {"timing": None, "timing_parameters": None, "equivalence": request.bench.equivalence}
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as scratch:
        command = subject.build.filled(subject.source.resolve(), Path(subject.name))
        baseline, candidate = (read(subject.source, command, subject.build.folder, text) for text in texts)
        kernel, step = _by_source(baseline, candidate)
        if step.outcome is Outcome.REJECTED:  # needs no run of the program to be known
            skipped = (StepVerdict(name, Outcome.SKIPPED, "an earlier step rejected the candidate") for name in STEPS[1:])
            return about | Verdict((step, *skipped)).document()
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
    return about | {"kernel": target.demangled, "device": survey.device} | times | verdict


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingInputError(f"{path}: {error.strerror}", "name an existing source file") from error


def _by_source(baseline: HipSource, candidate: HipSource) -> tuple[str, StepVerdict]:
    """The kernel whose body differs (the first, if there are several), and the verdict of the gate's first step on it."""
    names = [kernel.name for kernel in baseline.kernels]
    if not names:
        raise SourceError(f"{baseline.path} has no kernel", "name the source that has the program's kernels")
    try:
        bodies = {one.before.name for one in compare(baseline.device, candidate.device) if one.kind == "body"}
        changed = next((name for name in names if name.rsplit("::", 1)[-1] in bodies), names[0])
        return changed, source_check.check_source(baseline, candidate, changed)
    except SourceError as error:
        return names[0], rejected(source_check.STEP, f"it cannot be read: {error.what}")
