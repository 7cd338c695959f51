"""The transformations the optimiser can propose, by name. Adding one: a file here with a `propose`, and a line below.

A transformation reads a kernel and yields proposals and refusals; it runs nothing and decides nothing. Everything it
proposes keeps results bit-identical in its author's mind; whether it does is for the gate to find.
"""

from __future__ import annotations

from rocm_perf_lab.optimize.transforms import batch, hoist, launch_bounds, lds_padding, nontemporal, restrict, unroll, vector
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal, Transformation

_ALL = (unroll, batch, lds_padding, restrict, hoist, vector, launch_bounds, nontemporal)
BY_NAME: dict[str, Transformation] = {module.NAME: module.propose for module in _ALL}
DEFAULT = tuple(name for name in BY_NAME if name != nontemporal.NAME)  # a hint costs a judgement for every pointer

__all__ = ["BY_NAME", "DEFAULT", "Proposal", "Refusal", "Transformation"]
