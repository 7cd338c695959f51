"""The seed of a run: drawn when it begins, and kept by whatever goes on with it."""

from __future__ import annotations

from dataclasses import replace

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import GateLine


def with_seed(bench: BackendOptions, journal: Journal) -> BackendOptions:
    """Errors: UsageError where the user asks for another seed than the run began with."""
    begun = journal.last(GateLine)
    if begun is None:
        return replace(bench, seed=seeds.fresh() if bench.seed is None else bench.seed)
    if bench.seed not in (None, begun.seed):
        what = f"the run in {journal.path.parent} began with --seed {begun.seed}"
        raise UsageError(what, "leave --seed out, or start anew, without --resume")
    return replace(bench, seed=begun.seed)
