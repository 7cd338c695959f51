"""Predicts, from experiments with the profiled dispatch, what a proposal may gain. Proposals are ranked by this prediction, and
hopeless ones are not judged.

A transformation removes certain causes of the kernel's time, usually only in part. The experiment that removes all of these
causes entirely therefore yields an upper bound on the gain. The bound applies to the whole kernel; the gain is estimated as the
part of the bound that falls on the lines that the proposal changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocm_perf_lab.optimize.source_protocol import Kernel
from rocm_perf_lab.optimize.transforms import Proposal

# The causes that each transformation can remove. Anything that changes the code of a loop changes its scalar instructions as
# well.
_LOOP_CAUSES = (
    "memory-latency",
    "lds-latency",
    "scalar-issue",
    "vector-issue",
    "address-issue",
    "few-waves",
    "instruction-fetch",
)
CAUSES: Mapping[str, Sequence[str]] = {
    "wave-per-row": ("small-grid", "uncoalesced", "imbalance", "l2-bandwidth", "memory-bandwidth", "beyond-l2", *_LOOP_CAUSES),
    "split-loop": ("small-grid", "imbalance", "memory-bandwidth", "beyond-l2", *_LOOP_CAUSES),
    "privatize": ("atomics", "l2-bandwidth", "memory-bandwidth", "beyond-l2", "uncoalesced", "imbalance", *_LOOP_CAUSES),
    "load-ahead": (*_LOOP_CAUSES, "lds-issue", "atomics"),
    "unroll": _LOOP_CAUSES,
    "unroll-strided": _LOOP_CAUSES,
    "lds-padding": ("bank-conflicts", "lds-latency", "lds-issue", "barriers"),
    "restrict": (*_LOOP_CAUSES, "l2-bandwidth", "memory-bandwidth", "beyond-l2", "uncoalesced", "scratch"),
    "hoist": (*_LOOP_CAUSES, "l2-bandwidth", "memory-bandwidth", "beyond-l2", "uncoalesced"),
    "vector": (*_LOOP_CAUSES, "l2-bandwidth", "uncoalesced"),
    "launch-bounds": ("few-waves", "scratch", *_LOOP_CAUSES),
    "nontemporal": ("beyond-l2", "memory-bandwidth", "memory-latency", "l2-bandwidth"),
}


@dataclass(frozen=True)
class KernelTimeStack:
    """A time stack in the form that the optimizer needs. causes: its parts. without_ns: the time without each subset of the
    causes; bit i of the index stands for the i-th cause. alone_ns: cause -> the time with only that cause removed, including
    causes outside the stack. lines: source line -> cause -> time saved, in ns, by removing that cause on that line alone.
    """

    duration_ns: int
    causes: tuple[str, ...]
    without_ns: tuple[int, ...]
    lines: Mapping[int, Mapping[str, int]]
    alone_ns: Mapping[str, int] = field(default_factory=dict)

    def gain(self, causes: Sequence[str]) -> float:
        """The share of the time that is saved by removing all of these causes. Each cause outside the stack adds what its
        removal alone saves.
        """
        removed = sum(1 << i for i, name in enumerate(self.causes) if name in causes)
        outside_ns = sum(
            self.duration_ns - ns for name, ns in self.alone_ns.items() if name in causes and name not in self.causes
        )
        return min(1.0, 1 - (self.without_ns[removed] - outside_ns) / self.duration_ns)


@dataclass(frozen=True)
class Prediction:
    """kernel: upper bound on the share of the kernel's time that the proposal saves. program: the same bound as a share of the
    GPU's span, derived from the kernel's share of the critical path; None if that share is not known. lines: the fraction of
    the causes' gains that falls on the proposal's lines, 0 to 1; 1 if the lines are not known. causes: the causes in the kernel
    that the proposal may remove.

    estimate: the share of the kernel's time that is saved if the proposal's lines reach their part of the bound and nothing
    else changes.
    """

    causes: tuple[str, ...]
    kernel: float
    program: float | None
    lines: float = 1.0

    @property
    def estimate(self) -> float:
        return self.kernel * self.lines

    @property
    def in_words(self) -> str:
        return f"the experiments say that it saves {self.kernel:.1%} of the kernel's time at most"


@dataclass(frozen=True)
class PredictedProposal:
    """A proposal with its prediction, which is None without experiments."""

    proposal: Proposal
    prediction: Prediction | None

    @property
    def rank(self) -> float:
        """The sort key: largest estimate first. Proposals without a prediction come last."""
        return 0.0 if self.prediction is None else -round(self.prediction.estimate, 6)


def predict_gain(
    proposal: Proposal, kernel: Kernel, stack: KernelTimeStack | None, share: float | None, text: bytes
) -> Prediction | None:
    """The prediction; None without experiments, or for a transformation whose effect is unknown. share: the kernel's share of
    the critical path.
    """
    causes = CAUSES.get(proposal.transformation)
    if stack is None or causes is None:
        return None
    gain = stack.gain(causes)
    its = tuple(name for name in stack.causes if name in causes)
    return Prediction(
        its, gain, None if share is None else gain * share, _share_inside_loop(proposal, kernel, stack, its, text)
    )


def _share_inside_loop(proposal: Proposal, kernel: Kernel, stack: KernelTimeStack, causes: Sequence[str], text: bytes) -> float:
    loops = [loop for loop in kernel.all_loops() if loop.span.line == proposal.line]
    gains = {line: sum(of.get(cause, 0) for cause in causes) for line, of in stack.lines.items()}
    if not loops or not sum(gains.values()):
        return 1.0
    spans = [(loop.span.line, loop.span.line + text.count(b"\n", loop.span.start, loop.span.end)) for loop in loops]
    inside = sum(gain for line, gain in gains.items() if any(first <= line <= last for first, last in spans))
    return inside / sum(gains.values())
