"""The transformations that the optimizer can propose for Triton functions, by name. To add one, put a module with a function
`propose` here and add a line for it below.

As with HIP, a transformation reads a function and yields proposals and refusals; it runs nothing and decides nothing. All are
meant to keep results bit-identical, except that `reciprocal` rounds one more time and `configuration` can change the order in
which numbers are added.
"""

from __future__ import annotations

from rocm_perf_lab.optimize.transforms.proposal import Transformation
from rocm_perf_lab.optimize.triton.transforms import configuration, full_blocks, pipeline, reciprocal, streaming, unroll

_ALL = (configuration, full_blocks, pipeline, unroll, reciprocal, streaming)
TRANSFORMS: dict[str, Transformation] = {module.NAME: module.propose for module in _ALL}
DEFAULT = tuple(name for name in TRANSFORMS if name != streaming.NAME)  # streaming costs one judgement per access

__all__ = ["DEFAULT", "TRANSFORMS"]
