"""Goes from a program to the context of the kernel that matters most: builds the program, profiles it or reads an existing
profile, and chooses a kernel.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import BuildTarget, find_build_target
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.source_choice import by_reports, by_time
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import Target, targets_of
from rocm_perf_lab.prompt.context import Context, build_context
from rocm_perf_lab.prompt.rules import AnswerRules
from rocm_perf_lab.prompt.tried_changes import tried_in
from rocm_perf_lab.report.dag import DOMINATES
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.read_run_directory import reports_in


@dataclass(frozen=True)
class PromptRequest:
    """The user's request.

    command, source, build: as for optimize.build_target.find_build_target. backend_options.pattern: selects kernels. profile: a
    run directory to read instead of profiling the program. runs: the folder with the journals of earlier proposals; None for
    the folder that `rocm-perf optimize` uses.
    """

    command: tuple[str, ...]
    source: Path | None = None
    build: str | None = None
    profile: Path | None = None
    runs: Path | None = None
    backend_options: BackendOptions = field(default_factory=BackendOptions)


def context_of(request: PromptRequest, note: Callable[[str], None]) -> Context:
    """The context for a request.

    Raises whatever finding, building or profiling the program raises, and SourceError if the source contains none of its
    kernels.
    """
    options, profile = request.backend_options, request.profile
    choose = by_time(options, note) if profile is None else by_reports(lambda: reports_in(profile), options.pattern, note)
    build_target = find_build_target(request.command, request.source, request.build, choose)
    note(f"source: {build_target.source} (by {build_target.found_by})")
    with tempfile.TemporaryDirectory(prefix="rocm-perf-prompt-") as scratch:
        source, reports = _source_and_reports(request, build_target, Path(scratch), note)
    targets = ranked_targets(reports, source, request.backend_options.pattern)
    note(f"kernel {targets[0].demangled}: {targets[0].reason}")
    if other_kernels := [target.kernel for target in targets[1:]]:
        note(f"others in turn, with --kernel: {', '.join(dict.fromkeys(other_kernels))}")
    runs = request.runs or Path(build_target.name + run_folder.SUFFIX)
    tried = tried_in(runs, targets[0].demangled, digest(source.state))
    return build_context(reports, source, targets[0], tried, AnswerRules.asked_for(request.backend_options))


def _source_and_reports(
    request: PromptRequest, build_target: BuildTarget, scratch: Path, note: Callable[[str], None]
) -> tuple[HipSource, CoreDocuments]:
    if request.profile is None:
        backend = HipBackend(build_target, scratch, request.backend_options, lambda _event, **_fields: None, note)
        source = backend.read(build_target.source.read_bytes())
        return source, backend.profile(source).reports
    reports = reports_in(request.profile)
    if build_target.source.stat().st_mtime > (request.profile / "profile.json").stat().st_mtime:
        note(f"{build_target.source} was changed after {request.profile} was made: its line numbers may be off")
    return build_target.read(), reports


def ranked_targets(reports: CoreDocuments, source: HipSource, pattern: str | None = None) -> Sequence[Target]:
    """The kernels to work on, in order: first the one that dominates the critical path, if any, then the rest by their
    potential gain for the program. Raises UsageError if the pattern matches no kernel, and SourceError if the source contains
    none.
    """
    targets, skipped_targets = targets_of(reports, source, pattern, min_improvement=0.0)
    if not targets:
        reasons = (
            "; ".join(f"{skipped.kernel}: {skipped.reason}" for skipped in skipped_targets)
            or "the program has no kernel of its own"
        )
        raise SourceError(f"{source.path} has none of the program's kernels ({reasons})", "name their source with --source")
    if (reports.dag.fraction or 0.0) >= DOMINATES:
        targets.sort(key=lambda target: target.demangled != reports.dag.dominant_symbol)
    return targets
