"""Determines which process several databases are runs of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.analysis.ranks import Rank, ranks
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.rocpd.origin import origins


def only_rank(paths: Sequence[Path]) -> Rank:
    """The one process that these are runs of. Raises UsageError if they are runs of several processes, and TraceError."""
    found, _ = ranks([origin for path in paths for origin in origins(path)])
    if len(found) > 1:
        raise UsageError(f"{paths[0].parent} has {len(found)} ranks", "take one rank at a time: name its database")
    return found[0]
