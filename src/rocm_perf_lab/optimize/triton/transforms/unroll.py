"""unroll: merges several iterations of an innermost loop into one, so that their loads are in flight together and fewer
branches are taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms.loops import is_innermost, range_loops
from rocm_perf_lab.optimize.triton.transforms.range_options import language_of, with_option
from rocm_perf_lab.triton_source import TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import keyword

NAME = "unroll"
_OPTION = "loop_unroll_factor"


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    language = language_of(source)
    for loop in range_loops(kernel):
        line = loop.node.lineno
        if language is None:
            yield Refusal(NAME, kernel.name, line, "the file has no name for triton.language")
        elif not is_innermost(loop):
            yield Refusal(NAME, kernel.name, line, "it contains another loop")
        elif keyword(loop.call, _OPTION) is not None:
            yield Refusal(NAME, kernel.name, line, "it already has an unroll factor")
        else:
            for factor in factors:
                edits = with_option(source, loop, language, _OPTION, factor)
                words = f"unroll the loop in line {line} by {factor}"
                yield Proposal(NAME, kernel.name, line, words, tuple(edits), {"factor": factor})
