"""The seed of a run: drawn when the run begins, and kept when it is resumed."""

from __future__ import annotations

from dataclasses import replace

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import GateLine


def with_seed(backend_options: BackendOptions, journal: Journal) -> BackendOptions:
    """The options, with the run's seed.

    Raises UsageError if the user asks for a seed other than the one with which the run began.
    """
    begun = journal.last(GateLine)
    if begun is None:
        return replace(backend_options, seed=seeds.fresh() if backend_options.seed is None else backend_options.seed)
    if backend_options.seed not in (None, begun.seed):
        message = f"the run in {journal.path.parent} began with --seed {begun.seed}"
        raise UsageError(message, "omit --seed, or start again without --resume")
    return replace(backend_options, seed=begun.seed)
