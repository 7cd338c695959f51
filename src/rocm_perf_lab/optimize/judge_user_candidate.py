"""Judges a candidate supplied by the user: builds and runs the baseline's program, captures dispatches, and runs the gate."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocm_perf_lab.collect import inherited_limits
from rocm_perf_lab.errors import MissingInputError, OutputError, SourceError, UsageError
from rocm_perf_lab.gate.change import KernelChange
from rocm_perf_lab.gate.gate_document import GateDocument
from rocm_perf_lab.gate.judge import STEPS
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.verdict import StepOutcome, Verdict, skipped
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.hip_source.source import content_of
from rocm_perf_lab.kernel_pattern import exactly, fits
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions, ProfileSummary
from rocm_perf_lab.optimize.build_target import BuildTarget, find_build_target
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import ProposalLine, VerdictLine
from rocm_perf_lab.optimize.source_file import digest, write_whole


@dataclass(frozen=True)
class GateRequest:
    """The user's request to judge a candidate.

    baseline: the source of the program. candidate: its proposed replacement. command: the program and its arguments.
    backend_options.pattern: selects the kernel to judge; None for the one that differs. description: describes the change
    and is kept with the verdict for later prompts; None to keep nothing. runs: the folder in which the description and the
    verdict are kept; None for the program's own folder. output: where to write the source to keep if it is accepted; None to
    write nothing.
    """

    baseline: Path
    candidate: Path
    command: tuple[str, ...] = ()
    build: str | None = None
    backend_options: BackendOptions = field(default_factory=BackendOptions)
    description: str | None = None
    runs: Path | None = None
    output: Path | None = None


@dataclass(frozen=True)
class Judgement:
    """A verdict and its subject. kernel: its name in the trace, or in the source if nothing ran; summary: None if nothing was
    profiled.
    """

    request: GateRequest
    verdict: Verdict
    kernel: str
    summary: ProfileSummary | None = None

    def document(self) -> GateDocument:
        """The document for --json."""
        request, summary, verdict = self.request, self.summary, self.verdict.document()
        return GateDocument(
            baseline=str(request.baseline),
            candidate=str(request.candidate),
            kernel=self.kernel if summary else None,
            device=summary.device if summary else None,
            timing=summary.timing if summary else None,
            timing_parameters=summary.timing_parameters if summary else None,
            equivalence=request.backend_options.equivalence,
            ulps=request.backend_options.ulps,
            accepted=verdict.accepted,
            undecided=verdict.undecided,
            steps=verdict.steps,
            adopted=verdict.adopted,
        )


def judge(request: GateRequest, note: Callable[[str], None]) -> Judgement:
    """Judge the candidate of a request.

    Raises errors caused by the baseline or the machine; a fault in the candidate leads to a rejection instead.
    """
    inherited_limits.check_temporary_folder()
    texts = _read_content(request.baseline), _read_content(request.candidate)
    _expect_output_is_not_a_source(request)
    command = request.command or (f"./{request.baseline.stem}",)
    build_target = find_build_target(command, request.baseline, request.build)
    runs = (request.runs or Path(build_target.name + run_folder.SUFFIX)).absolute()
    if request.description is not None:
        _expect_writable(runs)
    judgement = _judge_texts(request, build_target, texts, note)
    if request.description is not None:
        _journal_verdict(runs, request, judgement, texts)
    verdict = judgement.verdict
    if request.output is not None and verdict.accepted and verdict.adopted is not None:
        write_whole(request.output, verdict.adopted)
    return judgement


def _expect_output_is_not_a_source(request: GateRequest) -> None:
    if request.output is None or not request.output.exists():
        return
    for path in (request.baseline, request.candidate):
        if request.output.samefile(path):
            raise UsageError(f"--output {request.output} is one of the judged sources", "name another file")


def _expect_writable(folder: Path) -> None:
    """Check in advance that the folder is writable, since judging takes a while."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        raise OutputError(f"{folder} cannot be written", "name another folder with --runs")


def _judge_texts(
    request: GateRequest, build_target: BuildTarget, texts: tuple[bytes, bytes], note: Callable[[str], None]
) -> Judgement:
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as scratch:
        baseline = build_target.read(texts[0])
        kernel, change = _changed_kernel(baseline, texts[1], request.backend_options)
        # With a pattern, the kernel is not skipped even if its potential gain is small.
        pattern = request.backend_options.pattern or (
            exactly(kernel.demangled) if kernel.demangled else _instantiation_pattern(kernel)
        )
        backend = HipBackend(
            build_target, Path(scratch), replace(request.backend_options, pattern=pattern), lambda _line: None, note
        )
        first = backend.check_text(baseline, kernel, change)
        if first.outcome is StepOutcome.REJECTED:
            return Judgement(request, Verdict((first, *map(skipped, STEPS[1:]))), kernel.name)
        summary = backend.profile(baseline)
        target = next(
            (target for target in summary.targets if baseline.kernel(target.kernel).identity == kernel.identity), None
        )
        if target is None:
            raise SourceError(
                f"{kernel.name} is not among the kernels that the program launches", "give arguments that launch it"
            )
        note(f"judging the change to {target.demangled} in {request.candidate}")
        with backend.gate(baseline, target) as gate:
            verdict = gate.judge(texts[1])
    return Judgement(request, verdict, target.demangled, summary)


def _journal_verdict(folder: Path, request: GateRequest, judgement: Judgement, texts: tuple[bytes, bytes]) -> None:
    journal = Journal(folder / run_folder.BY_HAND)
    before, after = texts
    baseline, candidate = digest(before), digest(after)
    diff = unified_diff(before, after, request.baseline.name)
    description = request.description or ""
    journal.append(ProposalLine(candidate=candidate, description=description, kernel=judgement.kernel, diff=diff))
    journal.append(VerdictLine(baseline=baseline, candidate=candidate, verdict=judgement.verdict.document()))


def _read_content(path: Path) -> bytes:
    try:
        return content_of(path)
    except OSError as error:
        raise MissingInputError(f"{path}: {error.strerror}", "name an existing source file") from error


def _changed_kernel(
    baseline: HipSource, candidate: bytes, backend_options: BackendOptions
) -> tuple[SourceKernel, KernelChange | str]:
    """The kernel, of those that match the pattern, that the candidate changes, and the change or the reason for refusing it."""
    pattern = backend_options.pattern
    kernels = [kernel for kernel in baseline.kernels if _may_match(pattern, kernel)]
    if not kernels:
        names = ", ".join(k.demangled or k.name for k in baseline.kernels)
        if pattern is None:
            raise SourceError(f"{baseline.path} has no kernel", "name the source that contains the program's kernels")
        raise UsageError(f"--kernel {pattern} matches no kernel of {baseline.path}", f"it has {names or 'none'}")
    with CandidateReader(baseline, backend_options.view.showing(readable=baseline.included)) as reader:
        change = reader.change(candidate, kernels[0].identity if len(kernels) == 1 else None)
    if isinstance(change, str):
        return kernels[0], change
    kernel = baseline.kernel(change.kernel)
    return kernel, change if kernel in kernels else f"it changes {kernel.name}, which --kernel does not match"


def _may_match(pattern: str | None, kernel: SourceKernel) -> bool:
    """Whether the pattern may match this kernel. The names of instantiations are known only after the program has run, so a
    template passes if the pattern contains its name.
    """
    if fits(pattern, kernel.demangled or kernel.name, kernel.symbol):
        return True
    return kernel.demangled is None and pattern is not None and kernel.last_name in pattern


def _instantiation_pattern(kernel: SourceKernel) -> str:
    return rf"(^|[\s:]){re.escape(kernel.last_name)}<"
