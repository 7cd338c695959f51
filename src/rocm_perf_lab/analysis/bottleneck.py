"""What holds a kernel back: the first rule of one table that its evidence meets, and the conditions that make it worse.

The thresholds are conventions, kept in one place each. 0.6 of a peak is what well-tuned streaming and matrix kernels reach
in practice and more than others do; below that, something other than the unit's throughput decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.arch.metric import Value

SATURATED = 0.60  # of a peak rate
WAITING = 0.50  # of the waves' life in s_waitcnt or at barriers
FEW_WAVES = 1.0  # of the grid per SIMD: less leaves SIMDs empty
LOW_RESIDENCE = 2.0  # waves per SIMD that registers or LDS allow
SHORT_NS = 5_000  # a launch costs about as much
SCATTERED = 32  # L1 accesses per vector memory instruction: the widest coalesced one makes 32
WIDEST_LOAD = 16  # bytes per lane
CONFLICTED = 0.25  # of the LDS's busy cycles lost to bank conflicts

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Rule:
    """holds: True, False, or None if what it needs is not known. uses: names in Evidence."""

    name: str
    uses: tuple[str, ...]
    holds: Callable[..., bool]
    why: str
    advice: tuple[str, ...]

    def judge(self, evidence: Evidence) -> bool | None:
        numbers = [evidence.number(name) for name in self.uses]
        return None if None in numbers else self.holds(*numbers)


# In order of precedence: a saturated unit explains a kernel whatever else is true of it.
CLASSES = (
    Rule(
        "memory-bandwidth-bound", ("hbm_fraction",), lambda fraction: fraction >= SATURATED,
        "it moves bytes between L2 and memory near the peak rate",
        ("move fewer bytes: fuse with its neighbours, use narrower types, keep reused data in LDS or registers",),
    ),
    Rule(
        "compute-bound", ("flop_fraction",), lambda fraction: fraction >= SATURATED,
        "its arithmetic runs near the peak of the pipes it uses",
        ("do less arithmetic, or do it on a faster pipe: MFMA instead of VALU, packed or lower precision",),
    ),
    Rule(
        "compute-bound", ("valu_busy_fraction",), lambda fraction: fraction >= SATURATED,
        "the SIMDs issue vector instructions most of the time, though few of them are FLOPs",
        ("cut address arithmetic, conversions and transcendental functions; unroll; hoist what does not change",),
    ),
    Rule(
        "lds-bound", ("lds_busy_fraction",), lambda fraction: fraction >= SATURATED,
        "the LDS is busy most of the time",
        ("keep more in registers, widen LDS accesses to 128 bits, pad arrays against bank conflicts",),
    ),
    Rule(
        "cache-bandwidth-bound", ("l2_fraction",), lambda fraction: fraction >= SATURATED,
        "L1 and L2 exchange bytes near L2's peak rate",
        ("reuse data in LDS or registers so that fewer lines are fetched from L2",),
    ),
    Rule(
        "occupancy-limited", ("wait_fraction", "resident_waves_per_simd", "grid_waves_per_simd"),
        lambda wait, resident, grid: wait >= WAITING and resident <= LOW_RESIDENCE < grid,
        "its waves mostly wait, and registers or LDS let too few of them reside on a SIMD to cover for one another",
        ("use fewer registers (__launch_bounds__) or less LDS per workgroup",),
    ),
    Rule(
        "memory-latency-bound", ("wait_fraction", "vmem_instructions"),
        lambda wait, vmem: wait >= WAITING and vmem > 0,
        "its waves spend most of their life waiting, for memory or for each other, and memory is not at its peak rate",
        ("put more loads in flight: unroll, load ahead of use, more waves; make each load wider",),
    ),
    Rule(
        "memory-latency-bound", ("memory_side", "vmem_instructions"),
        lambda memory_side, vmem: bool(memory_side) and vmem > 0,
        "it needs more of memory than of arithmetic, yet neither is near its peak: what it waits for is latency",
        ("put more loads in flight: unroll, load ahead of use, more waves; make each load wider",),
    ),
    Rule(
        "too-little-parallelism", ("grid_waves_per_simd",), lambda waves: waves < FEW_WAVES,
        "the grid has fewer waves than the device has SIMDs",
        ("launch more work at once: smaller work per thread, or batch several launches into one",),
    ),
    Rule(
        "launch-bound", ("mean_duration",), lambda duration: duration < SHORT_NS,
        "a dispatch takes no longer than launching it",
        ("fuse short kernels, or record them in a HIP graph",),
    ),
    Rule(
        "occupancy-limited", ("resident_waves_per_simd", "grid_waves_per_simd"),
        lambda resident, grid: resident <= LOW_RESIDENCE < grid,
        "registers or LDS let few waves reside on a SIMD",
        ("use fewer registers (__launch_bounds__) or less LDS per workgroup",),
    ),
)  # fmt: skip

# Conditions that do not decide the class but that explain it or make it worse.
FACTORS = (
    Rule(
        "uncoalesced-access", ("l1_accesses_per_vmem_instruction",), lambda accesses: accesses > SCATTERED,
        "the lanes of a wave touch many lines with one instruction",
        ("let neighbouring lanes touch neighbouring addresses: swap loops, transpose through LDS",),
    ),
    Rule(
        "over-fetch", ("l2_read_bytes_per_lane",), lambda bytes: bytes > WIDEST_LOAD,
        "L1 fetches more bytes from L2 per lane than the widest load uses: lines are fetched for little of their content",
        ("use a whole line while it is in L1: let neighbouring lanes touch neighbouring addresses",),
    ),
    Rule(
        "too-little-parallelism", ("grid_waves_per_simd",), lambda waves: waves < FEW_WAVES,
        "the grid has fewer waves than the device has SIMDs",
        ("launch more work at once: less work per thread, several threads per row",),
    ),
    Rule(
        "low-occupancy", ("resident_waves_per_simd", "grid_waves_per_simd"),
        lambda resident, grid: resident <= LOW_RESIDENCE < grid,
        "registers or LDS let few waves reside on a SIMD",
        ("use fewer registers (__launch_bounds__) or less LDS per workgroup",),
    ),
    Rule(
        "lds-bank-conflicts", ("lds_conflict_fraction",), lambda fraction: fraction > CONFLICTED,
        "LDS cycles are lost to bank conflicts",
        ("pad LDS rows by one element, or swizzle the index",),
    ),
    Rule(
        "launch-bound", ("mean_duration",), lambda duration: duration < SHORT_NS,
        "a dispatch takes no longer than launching it",
        ("fuse short kernels, or record them in a HIP graph",),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A rule that holds, with the numbers that it looked at."""

    name: str
    why: str
    uses: tuple[str, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True)
class Bottleneck:
    """finding: the class; its name is 'unknown' if no rule holds, with the reason in `why`. factors: what adds to it.

    undecided: rules of higher precedence than the class that could not be judged, each with what they lack.
    """

    finding: Finding
    factors: tuple[Finding, ...]
    undecided: dict[str, str]

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try, the most specific first: factors name a cause, the class only a symptom."""
        lines = [line for factor in self.factors for line in factor.advice]
        return tuple(dict.fromkeys([*lines, *self.finding.advice]))


def classify(evidence: Evidence) -> Bottleneck:
    """The bottleneck that the evidence supports. Never a guess: missing evidence leaves rules undecided and is named."""
    undecided: dict[str, str] = {}
    for rule in CLASSES:
        verdict = rule.judge(evidence)
        if verdict:
            return Bottleneck(_finding(rule), _factors(evidence, rule.name), undecided)
        if verdict is None:
            undecided.setdefault(rule.name, _lacking(rule, evidence))
    why = f"the evidence does not decide: {', '.join(undecided)} could not be judged" if undecided else "no limit is reached"
    return Bottleneck(Finding(UNKNOWN, why, (), ()), _factors(evidence, UNKNOWN), undecided)


def _factors(evidence: Evidence, chosen: str) -> tuple[Finding, ...]:
    return tuple(_finding(rule) for rule in FACTORS if rule.name != chosen and rule.judge(evidence))


def _finding(rule: Rule) -> Finding:
    return Finding(rule.name, rule.why, rule.uses, rule.advice)


def _lacking(rule: Rule, evidence: Evidence) -> str:
    missing = [name for name in rule.uses if evidence.number(name) is None]
    known = [evidence.values[name] for name in missing if name in evidence.values]
    return Value.missing_because("", known).reason or f"no {', '.join(missing)}"
