"""The transformations that the optimizer can propose, by name. To add one, put a module with `NAME` and a function `propose`
here, add a line for it below, and name the causes that it can remove in `prediction.CAUSES`. (combined, nan_order and proposal
are not transformations.)

A transformation reads a kernel and yields proposals and refusals; it runs nothing and decides nothing. Every proposal is meant
to keep results bit-identical, except that `wave-per-row` and `privatize` add floating-point numbers in a different order; the
gate checks the results.
"""

from __future__ import annotations

from rocm_perf_lab.optimize.transforms import (
    hoist,
    launch_bounds,
    lds_padding,
    load_ahead,
    nontemporal,
    privatize,
    restrict,
    split_loop,
    unroll,
    unroll_strided,
    vector,
    wave_per_row,
)
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal, Transformation

_ALL = (
    wave_per_row,
    split_loop,
    privatize,
    load_ahead,
    unroll,
    unroll_strided,
    lds_padding,
    restrict,
    hoist,
    vector,
    launch_bounds,
    nontemporal,
)
TRANSFORMS: dict[str, Transformation] = {module.NAME: module.propose for module in _ALL}
DEFAULT = tuple(name for name in TRANSFORMS if name != nontemporal.NAME)  # nontemporal costs one judgement per pointer

__all__ = ["TRANSFORMS", "DEFAULT", "Proposal", "Refusal", "Transformation"]
