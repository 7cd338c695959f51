"""Determines which process a set of databases belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.analysis.ranks import Rank, ranks
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.rocpd.recorded_process import recorded_processes


def only_rank(paths: Sequence[Path]) -> Rank:
    """The one process whose runs these databases record. Raises UsageError if there are several processes, and TraceError if a
    database cannot be read.
    """
    all_ranks, _ = ranks([process for path in paths for process in recorded_processes(path)])
    if len(all_ranks) > 1:
        raise UsageError(f"{paths[0].parent} has {len(all_ranks)} ranks", "take one rank at a time: name its database")
    return all_ranks[0]
