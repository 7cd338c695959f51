"""Store with a hint that the data will not be used again, so that the caches keep data that will be.

Results cannot depend on a hint. Whether the hint helps depends on what else is in the L2; the gate finds out by measuring.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.hip_source import Edit, HipSource, SourceKernel
from rocm_perf_lab.hip_source.stores import Stores, stores_of
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "nontemporal"


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per pointer parameter whose memory is only written to."""
    for stores in stores_of(source.device, kernel):
        if reason := why_not(stores):
            yield Refusal(NAME, kernel.name, stores.line, f"{stores.parameter}: {reason}")
            continue
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=stores.stores[0].statement.line,
            description=f"store to {stores.parameter} past the caches (line {stores.stores[0].statement.line})",
            edits=tuple(
                Edit(store.statement.start, store.statement.end, f"__builtin_nontemporal_store({store.value}, &{store.target})")
                for store in stores.stores
            ),
            parameters={"parameter": stores.parameter, "stores": len(stores.stores)},
        )


def why_not(stores: Stores) -> str | None:
    """Why the stores through this parameter cannot be changed; None if they can."""
    return stores.obstacle or (None if stores.stores else "nothing is stored through it")
