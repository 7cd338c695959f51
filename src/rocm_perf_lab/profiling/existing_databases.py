"""Turns existing databases into a run directory with one rank's documents, or with several ranks' folders and a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import run_directory
from rocm_perf_lab.analysis.ranks import Rank, ranks
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.profiling.parallel_ranks import AnalysisRequest, RankResult, analyse_ranks
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.exporters.parquet_file import why_absent
from rocm_perf_lab.report.json_writer import write_json
from rocm_perf_lab.report.ranks_summary import RankReports, summary
from rocm_perf_lab.report.schema import SummaryDocument
from rocm_perf_lab.rocpd.recorded_process import recorded_processes
from rocm_perf_lab.rocpd.trace_part import EmptyPartError
from rocm_perf_lab.text.names import short_name

Note = Callable[[str], None]


@dataclass(frozen=True)
class ExistingAnalysis:
    """reports: one per rank. summary: None for a single rank."""

    reports: list[CoreDocuments]
    summary: SummaryDocument | None


def analyse_existing(
    paths: Sequence[Path], request: AnalysisRequest, destination: Path, scheduler: str | None, note: Note
) -> ExistingAnalysis:
    """Analyse the databases and write the run directory, which appears only once it is complete.

    note: called with one line about each step and each assumption. Raises a RocmPerfError.
    """
    all_ranks, notes = ranks([process for path in paths for process in recorded_processes(path)])
    for text in notes:
        note(text)
    if request.thread_trace is not None and len(all_ranks) > 1:
        raise UsageError(f"--thread-trace is for one process, but these are {len(all_ranks)} ranks", "analyse that rank alone")
    if len(paths) > 1:
        for text in _describe_ranks(all_ranks):
            note(text)
    with run_directory.new_run_directory(destination) as directory:
        folders = (
            [""] if len(all_ranks) == 1 else [_name(rank, index).replace(" ", "_") for index, rank in enumerate(all_ranks)]
        )
        results = analyse_ranks(all_ranks, folders, request, directory, scheduler, _progress(len(all_ranks), note))
        together = _with_content(all_ranks, folders, results, notes, note)
        _check_patterns(request, together)
        if request.thread_trace is not None:
            for reason in _not_traced(together[0].reports):
                note(f"{request.thread_trace}: {reason}")
        if (
            len(
                {
                    (rank_reports.reports.profile.timing, rank_reports.reports.profile.timing_parameters)
                    for rank_reports in together
                }
            )
            > 1
        ):
            notes.append(
                "some ranks' times are measured and others modelled, or their timing parameters differ: do not compare them"
            )
            note(notes[-1])
        unwritten = {folder for folder, result in zip(folders, results, strict=True) if not result.has_table}
        for rank_reports in together:
            if rank_reports.folder in unwritten:
                write_json(directory / rank_reports.folder, rank_reports.reports.by_name())
        if lacking := sum(not result.has_table and result.empty is None for result in results):
            notes.append(f"{lacking} ranks have no dispatches.parquet: their workers cannot reach {destination}")
            note(notes[-1])
        if (no_table := why_absent()) is not None:
            note(no_table)
        overview = summary(together, notes) if len(all_ranks) > 1 else None
        if overview is not None:
            write_json(directory, {"summary": overview})
        (directory / run_directory.TRACE_FOLDER).rmdir()
    return ExistingAnalysis([rank_reports.reports for rank_reports in together], overview)


def _progress(total: int, note: Note) -> Callable[[int], None]:
    return lambda count: note(f"{count} of {total} ranks analysed") if total > 1 else None


def _with_content(
    all_ranks: Sequence[Rank], folders: Sequence[str], results: Sequence[RankResult], notes: list[str], note: Note
) -> list[RankReports]:
    """The ranks that have content in the requested part. If there are none, the first rank's error is raised."""
    with_content: list[RankReports] = []
    empty: EmptyPartError | None = None
    for index, (rank, folder, result) in enumerate(zip(all_ranks, folders, results, strict=True)):
        if result.empty is not None:
            notes.append(f"{_name(rank, index)} is omitted: {result.empty.problem}")
            note(notes[-1])
            empty = empty or result.empty
        elif result.reports is not None:
            with_content.append(RankReports(rank, folder, result.reports))
    if empty is not None and not with_content:
        raise empty
    return with_content


def _not_traced(reports: CoreDocuments) -> list[str]:
    """Notes on the traces that yield nothing; if no kernel in the report has a thread trace, the reason why none has."""
    kernels = reports.analysis.kernels
    if any(kernel.thread_trace for kernel in kernels):
        return [note for note in kernels[0].notes if "was traced, but" in note or note.startswith("the trace of ")]
    return [kernels[0].reasons["thread_trace"]]


def _check_patterns(request: AnalysisRequest, together: Sequence[RankReports]) -> None:
    """Check that each pattern of --what-if matches a kernel of at least one rank. Raises UsageError."""
    scenarios = [scenario for rank_reports in together for scenario in rank_reports.reports.dag.what_if]
    for pattern in (speedup.pattern for speedup in request.speedups):
        asked = [scenario for scenario in scenarios if scenario.pattern == pattern]
        if asked and not any(scenario.kernels for scenario in asked):
            names = [
                symbol.kernel
                for rank_reports in together
                for symbol in rank_reports.reports.dag.symbols
                if symbol.kind.endswith("kernel")
            ]
            examples = ", ".join(map(short_name, dict.fromkeys(names[:3])))
            raise UsageError(f"no kernel matches {pattern}", f"the trace has {len(set(names))} kernels, such as {examples}")


def _name(rank: Rank, index: int) -> str:
    return f"rank {rank.number if rank.number is not None else index}"


def _describe_ranks(all_ranks: Sequence[Rank]) -> list[str]:
    lines = []
    for index, rank in enumerate(all_ranks):
        further = [f"{process.path.name} (repeat)" for process in rank.repeats]
        further += [f"{process.path.name} (counters)" for process in rank.counters]
        lines.append(f"{_name(rank, index)}: {', '.join([rank.base.path.name, *further])}")
    return lines
