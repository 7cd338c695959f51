"""Orders proposals by where waves wait: those for the loops where waves wait most come first; otherwise, the given order is
kept. It breaks ties between proposals with the same prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocm_perf_lab.optimize.source_protocol import Kernel
from rocm_perf_lab.optimize.transforms import Proposal


def order_by_waits(
    proposals: Iterable[Proposal], kernel: Kernel, waited_cycles: Mapping[int, int], text: bytes
) -> list[Proposal]:
    """Sort proposals by the waiting in their loops. Predictions take precedence over this order; see PredictedProposal.rank.

    waited_cycles: source line -> cycles that waves spent waiting for that line's accesses; empty without a thread trace.
    """
    order = list(proposals)
    return sorted(order, key=lambda proposal: (-_waited_in_loop(proposal, kernel, waited_cycles, text), order.index(proposal)))


def _waited_in_loop(proposal: Proposal, kernel: Kernel, waited_cycles: Mapping[int, int], text: bytes) -> int:
    """Cycles that waves spent waiting in the loop at the proposal's line; 0 if there is no loop."""
    loops = [loop for loop in kernel.all_loops() if loop.span.line == proposal.line]
    last = {loop: loop.span.line + text.count(b"\n", loop.span.start, loop.span.end) for loop in loops}
    return sum(cycles for line, cycles in waited_cycles.items() if any(loop.span.line <= line <= last[loop] for loop in loops))
