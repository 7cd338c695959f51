"""What holds a kernel back, how much it can gain, and by which change: judged by experiments (a time stack), not by counters.

Counters show what a kernel does; an experiment shows what the kernel would gain by not doing it. So if a dispatch of the kernel
has a time stack, the stack's largest part is the verdict, and the stack's losses together are the headroom. Kernels without a
stack are still judged by rules based on counters. Conditions that show up in counters (factors) are kept if the stack contains
time that they could explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocm_perf_lab.analysis.bottleneck import EXPERIMENTS, Bottleneck
from rocm_perf_lab.analysis.bottleneck_thresholds import Factor
from rocm_perf_lab.analysis.headroom import Headroom, from_ceiling
from rocm_perf_lab.analysis.thread_trace.time_stack import TimePart, TimeStack, meanings
from rocm_perf_lab.arch.metric import Value

SMALL_GRID = "small-grid"  # in causes.toml, and as a factor in bottleneck.toml
MADE_SMALL = "unless the problem was made small for the software device"
LAUNCH = "launch"
# Causes that remain when headroom() removes all losses: the cost of dispatches, and the transfer of the bytes that coalesced
# accesses need. For a copy that runs at full memory bandwidth, these causes account for all of the
# time.
_STAYS = frozenset((LAUNCH, "beyond-l2", "memory-bandwidth", "l2-bandwidth"))
_MOSTLY_LAUNCH = 0.4  # share of the time; as in model_error
_MIN_SHARE = 0.01  # share of the time that a part needs in order to explain a factor
_WORTHWHILE = 0.02  # share of the time: a part that gains less has no remedy, and can be the verdict only if all gain less
_NEARLY = 0.5  # the remedy for the verdict's cause comes first if it gains at least this share of the largest gain
_CLEAR_LEAD, _NARROW_LEAD = 0.6, 0.525  # first / (first + second) if first exceeds second by half, or by a tenth


@dataclass(frozen=True)
class Remedy:
    """A change to the program, and the share of the kernel's time that it would save according to the experiment that removes
    its cause.

    line: the source line that contributes most to the gain; None if not known. gain_at_least, gain_at_most: bounds that hold
    the gain in four out of five cases; None if the model's error is not known. program_gain: the share of the GPU's span that
    is saved; None without a critical path. then_dominant: the kernel that dominates the path afterwards.
    """

    cause: str
    change: str
    gain: float
    line: str | None
    gain_at_least: float | None = None
    gain_at_most: float | None = None
    program_gain: float | None = None
    then_dominant: str | None = None


def verdict(stack: TimeStack, counted: Bottleneck, error: float | None, on_software_device: bool) -> Bottleneck:
    """The stack's verdict. counted: the counters' verdict, whose scores are kept unchanged. error: by how much the
    ratio of two modelled times may be off; None if not known. If no part of the stack can be the verdict, the counters' verdict
    stands.
    """
    known = _possible(stack)
    if not known:
        return counted
    first = known[0]
    second = known[1].ns if len(known) > 1 else 0.0
    lead = first.ns / (first.ns + second)
    share = first.ns / stack.duration_ns
    doubt = f", {MADE_SMALL}" if on_software_device and first.cause == SMALL_GRID else ""
    factors = tuple(factor for factor in counted.factors if _explains(factor, stack))
    suggested = remedies(stack, error)
    return replace(
        counted,
        name=first.cause,
        by=EXPERIMENTS,
        why=f"{share:.1%} of its time goes on {meanings()[first.cause].spent_on}{doubt}".replace("%", " %"),
        score=share,
        confidence=lead,
        certainty="high" if lead >= _CLEAR_LEAD else "medium" if lead >= _NARROW_LEAD else "low",
        factors=factors,
        undecided={},
        near=None,
        remedies=suggested,
        advice=_advice_of_factors(factors),
        on_full_device=_beyond_small_grid(stack) if first.cause == SMALL_GRID else None,
    )


def _possible(stack: TimeStack) -> list[TimePart]:
    """The parts that can be the verdict, largest first. If removing one part alone can gain something, only such parts are
    included: a part whose removal gains nothing is hidden behind others, and may hold the kernel back only once they are gone.
    """
    known = [part for part in stack.parts if part.cause in meanings() and not _is_fixed(part, stack)]
    return [part for part in known if part.first_ns >= _WORTHWHILE * stack.duration_ns] or known


def remedies(stack: TimeStack, error: float | None) -> tuple[Remedy, ...]:
    """One remedy for each cause whose removal alone gains a worthwhile amount, largest gain first, with two exceptions: the
    remedy for the verdict's cause comes first if it gains at least _NEARLY times the largest gain, and the remedy for the cost
    of a dispatch comes last if that cost is fixed (see _is_fixed).
    """
    suggested = []
    for part in stack.parts:
        gain = part.first_ns / stack.duration_ns
        if part.cause in meanings() and gain >= _WORTHWHILE:
            low, high = bounds(gain, error) if error is not None else (None, None)
            suggested.append(Remedy(part.cause, meanings()[part.cause].change, gain, line_of(stack, part.cause), low, high))
    most = max((remedy.gain for remedy in suggested), default=0.0)
    fixed = {part.cause for part in stack.parts if _is_fixed(part, stack)}
    first = next((part.cause for part in _possible(stack)), None)

    def order(remedy: Remedy) -> tuple[bool, bool, float]:
        return remedy.cause in fixed, remedy.cause != first or remedy.gain < _NEARLY * most, -remedy.gain

    return tuple(sorted(suggested, key=order))


def bounds(gain: float, error: float) -> tuple[float, float]:
    """The bounds of a gain if the modelled ratio of the two times is off by at most `error`, which is a fraction of the smaller
    of the modelled and the true ratio.
    """
    ratio = 1 - gain
    return 1 - ratio * (1 + error), 1 - ratio / (1 + error)


def line_of(stack: TimeStack, cause: str) -> str | None:
    """The source line with the largest gain if the cause is removed from it alone; None if no line gains noticeably."""
    gains = [(line.by_cause.get(cause, 0), line.source) for line in stack.lines]
    most, source = max(gains, default=(0, ""), key=lambda item: item[0])
    return source if most >= _MIN_SHARE * stack.duration_ns else None


def headroom(stack: TimeStack, total_ns: float, fraction_of_path: float | None) -> Headroom:
    """The headroom if all losses of the stack except those in _STAYS can be removed. total_ns: the total time of the kernel's
    dispatches.
    """
    losses = {name for name in stack.chosen if name in meanings() and not meanings()[name].is_work and name not in _STAYS}
    work = [part for part in stack.parts if part.cause not in losses]
    binding = max(work, key=lambda part: part.last_ns).cause if work else "the rest"
    left = max(1, stack.without(losses))  # times are in whole ns, and a few waves' share of a full device can be less
    ceiling = Value(total_ns * left / stack.duration_ns, "ns")
    return replace(from_ceiling(ceiling, binding, total_ns, fraction_of_path), by=EXPERIMENTS)


def _beyond_small_grid(stack: TimeStack) -> str | None:
    """The part that would be largest if the grid filled the device; None if no part would be left. The same work would then
    take less time, but in practice only a larger problem fills a device, so the fixed cost of the dispatch is ignored.
    """
    return next((name for name, share in stack.shares_without(SMALL_GRID).items() if name != LAUNCH and share > 0), None)


def _is_fixed(part: TimePart, stack: TimeStack) -> bool:
    """Whether the part is the fixed cost of a dispatch but does not dominate its time; it then reflects the problem's size, not
    the kernel.
    """
    return part.cause == LAUNCH and part.ns < _MOSTLY_LAUNCH * stack.duration_ns


def _explains(factor: Factor, stack: TimeStack) -> bool:
    shares = {part.cause: max(part.ns, part.first_ns) / stack.duration_ns for part in stack.parts}
    return not factor.causes or any(shares.get(cause, 0.0) >= _MIN_SHARE for cause in factor.causes)


def _advice_of_factors(factors: Sequence[Factor]) -> tuple[str, ...]:
    """The advice of the factors for which the stack has no cause of its own."""
    return tuple(dict.fromkeys(line for factor in factors if not factor.causes for line in factor.advice))
