"""Analyses many ranks, each in its own process, on this machine or on the workers of a Dask cluster.

Only the small documents are sent back, about 100 KB per rank, however long the trace is. Each process writes its own files if
it can access the run directory (processes on this machine can, and so can workers if the directory is on a shared file system).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.ranks import Rank
from rocm_perf_lab.analysis.what_if import Speedup
from rocm_perf_lab.dask_cluster import client_of
from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.process.cores import available_cores
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.exporters import export_all
from rocm_perf_lab.rocpd.trace_part import EmptyPartError, TracePart
from rocm_perf_lab.run_directory import TRACE_FOLDER

if TYPE_CHECKING:
    from concurrent.futures import Executor

SHORT_BYTES = 32 << 20


@dataclass(frozen=True)
class AnalysisRequest:
    """How to analyse each rank; see profiling.pipeline.analyse."""

    part: TracePart
    kernel: str | None
    clock_mhz: float | None
    memory_bandwidth_gbps: float | None
    speedups: tuple[Speedup, ...] = ()
    ceilings: Path | None = None
    thread_trace: Path | None = None


@dataclass(frozen=True)
class RankResult:
    """reports: None if the requested part of the trace is empty; `empty` then says why.

    has_table: whether the process wrote the rank's files, including those that cannot be made from the reports, such as the
    table of dispatches.
    """

    reports: CoreDocuments | None
    has_table: bool = False
    empty: EmptyPartError | None = None


def analyse_rank(rank: Rank, request: AnalysisRequest, directory: Path, folder: str) -> RankResult:
    """Analyse one rank and write its files into directory/folder, if that directory is visible to this process."""
    try:
        documents = analyse(
            rank.base,
            rank.repeats,
            rank.counters,
            request.thread_trace,
            clock_mhz=request.clock_mhz,
            memory_bandwidth_gbps=request.memory_bandwidth_gbps,
            ceilings=request.ceilings,
            part=request.part,
            kernel=request.kernel,
            speedups=request.speedups,
        )
    except EmptyPartError as error:
        return RankResult(None, empty=error)
    # This folder exists in every run directory that is being written, so a process that sees it can access the directory.
    sees = (directory / TRACE_FOLDER).is_dir()
    if sees:
        export_all(documents, directory / folder)
    return RankResult(CoreDocuments(documents.profile, documents.roofline, documents.dag, documents.analysis), sees)


def analyse_ranks(
    ranks: Sequence[Rank],
    folders: Sequence[str],
    request: AnalysisRequest,
    directory: Path,
    scheduler: str | None,
    done: Callable[[int], None],
) -> list[RankResult]:
    """The results, in the order of `ranks`. done: called after each rank with the number of results so far. scheduler: the
    address of the Dask scheduler, or None.

    Raises whatever the analysis of a rank raises, and UnavailableError if Dask is missing, its scheduler cannot be reached, or
    a process that runs an analysis is killed.
    """
    directory = directory.resolve()
    ranks = [rank.absolute() for rank in ranks] if scheduler is not None else ranks  # workers have other working directories
    results: list[RankResult] = []
    if scheduler is None and (len(ranks) == 1 or _are_short(ranks)):
        for rank, folder in zip(ranks, folders, strict=True):
            results.append(analyse_rank(rank, request, directory, folder))
            done(len(results))
        return results
    from concurrent.futures.process import BrokenProcessPool  # imported here so that a single rank need not wait for it

    with _executor(len(ranks), scheduler) as pool:
        work = zip(ranks, folders, strict=True)
        futures = [pool.submit(analyse_rank, rank, request, directory, folder) for rank, folder in work]
        try:
            for future in futures:
                results.append(future.result())
                done(len(results))
        except BrokenProcessPool as error:
            hint = "analyse fewer databases at a time, or use more machines with --scheduler"
            raise UnavailableError("a process that analysed a rank was killed, perhaps for lack of memory", hint) from error
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return results


def _are_short(ranks: Sequence[Rank]) -> bool:
    """Whether starting processes would take longer than the analysis itself."""
    return sum(rank.base.path.stat().st_size for rank in ranks) < SHORT_BYTES


@contextmanager
def _executor(tasks: int, scheduler: str | None) -> Iterator[Executor]:
    if scheduler is None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # Not forked: reading uses threads, and a fork would copy their locks in an arbitrary state.
        with ProcessPoolExecutor(min(tasks, available_cores()), mp_context=get_context("spawn")) as pool:
            yield pool
        return
    with client_of(scheduler) as client, client.get_executor(pure=False, retries=1) as pool:
        yield pool
