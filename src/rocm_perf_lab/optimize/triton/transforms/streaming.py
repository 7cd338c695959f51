"""streaming: a hint that the data of an access will not be used again soon, so that it need not stay in the caches."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import calls, keyword

NAME = "streaming"
_OPTION, _STREAMING = "cache_modifier", ".cs"


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    for name in ("store", "load"):
        for call in calls(kernel.node, name):
            if keyword(call, _OPTION) is not None or keyword(call, "volatile") is not None:
                yield Refusal(NAME, kernel.name, call.lineno, f"the {name} already specifies how it uses caches")
                continue
            end = source.positions.end(call) - 1
            comma = "" if source.text[:end].rstrip().endswith(b",") else ", "
            edit = Edit(end, end, f'{comma}{_OPTION}="{_STREAMING}"')
            words = f"the {name} in line {call.lineno} as a stream"
            yield Proposal(NAME, kernel.name, call.lineno, words, (edit,), {"access": name})
