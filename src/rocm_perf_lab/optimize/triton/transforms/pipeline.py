"""pipeline: sets how many iterations ahead a loop loads from memory."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms.loops import is_innermost, range_loops
from rocm_perf_lab.optimize.triton.transforms.range_options import language_of, with_option
from rocm_perf_lab.triton_source import TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import calls, keyword

NAME = "pipeline"
_OPTION = "num_stages"
_STAGES = (1, 2, 3)


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    language = language_of(source)
    for loop in range_loops(kernel):
        line = loop.node.lineno
        if language is None:
            yield Refusal(NAME, kernel.name, line, "the file has no name for triton.language")
        elif not is_innermost(loop) or not calls(loop.node, "load"):
            yield Refusal(NAME, kernel.name, line, "it contains another loop, or loads nothing")
        elif not calls(loop.node, "dot"):
            yield Refusal(NAME, kernel.name, line, "on AMD's GPUs, Triton pipelines only loads for tl.dot, and it has none")
        elif keyword(loop.call, _OPTION) is not None:
            yield Refusal(NAME, kernel.name, line, "its stages are given already")
        else:
            for stages in _STAGES:
                edits = with_option(source, loop, language, _OPTION, stages)
                words = f"{stages} stages in the loop in line {line}"
                yield Proposal(NAME, kernel.name, line, words, tuple(edits), {"stages": stages})
