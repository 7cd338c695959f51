"""Selects the kernels to try, ranked by critical-path share times headroom, and the kernels to skip, and gives the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.dag import RUNTIME
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.demangle import qualified_name
from rocm_perf_lab.hip_source.kernels import files_with_kernels
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.optimize.prediction import KernelTimeStack

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import CoreDocuments
    from rocm_perf_lab.report.schema import KernelAnalysis


@dataclass(frozen=True)
class Target:
    """A profiled kernel. kernel: its name in the source; demangled: its name in the trace.

    share: fraction of the critical path, 0 to 1. headroom: fraction of the kernel's time that could be saved. priority: their
    product, which is the largest possible gain for the program; None if times or counters are missing. waited_cycles: source
    line -> cycles for which waves waited for its accesses, from the thread trace; empty without a trace. siblings: other
    instantiations of the same template that the program launches; a change affects them all. stack: the time stack of one of
    its dispatches; None without experiments.
    """

    kernel: str
    demangled: str
    dispatches: int
    time_ms: float | None
    share: float | None
    headroom: float | None
    priority: float | None
    bottleneck: str
    waited_cycles: Mapping[int, int] = field(default_factory=dict)
    siblings: tuple[Target, ...] = ()
    stack: KernelTimeStack | None = None

    @property
    def reason(self) -> str:
        """The reason for the kernel's rank, in words."""
        if self.share is None:
            return "its share of the critical path is not known"
        headroom = "unknown" if self.headroom is None else f"{self.headroom:.0%}"
        return f"{self.share:.0%} of the critical path, headroom {headroom} (the program could gain {self._gain_in_words})"

    @property
    def _gain_in_words(self) -> str:
        return "an unknown part" if self.priority is None else f"{self.priority:.0%} at most"


@dataclass(frozen=True)
class SkippedTarget:
    """A kernel that is skipped, and why."""

    kernel: str
    reason: str


def targets_of(
    documents: CoreDocuments, source: HipSource, pattern: str | None, min_improvement: float
) -> tuple[list[Target], list[SkippedTarget]]:
    """The kernels to try, largest potential gain first, and the kernels to skip. pattern: selects names; None for all.

    Raises UsageError if the pattern matches no kernel of the program.
    """
    runtime = {symbol.kernel for symbol in documents.dag.symbols if symbol.kind == RUNTIME}
    kernels = [analysis for analysis in documents.analysis.kernels if analysis.kernel not in runtime]
    share = {symbol.kernel: symbol.fraction for symbol in documents.dag.symbols}
    targets: list[Target] = []
    skipped: list[SkippedTarget] = []
    for analysis in kernels:
        if not fits(pattern, analysis.kernel, analysis.symbol):
            continue
        target = _target(analysis, source, share)
        if target is None:
            skipped.append(SkippedTarget(analysis.kernel, _why_not_in_source(analysis.kernel, source)))
        elif pattern is None and (gain := _largest_gain(target)) is not None and gain < min_improvement:
            reason = f"the program could gain {gain:.2%} from it at most, less than {min_improvement:.1%}"
            skipped.append(SkippedTarget(analysis.kernel, reason))
        else:
            is_instantiation = source.kernel(target.kernel).template is not None
            targets.append(replace(target, siblings=_siblings(target, kernels) if is_instantiation else ()))
    if pattern is not None and not targets and not skipped:
        raise no_kernel_fits(pattern, [analysis.kernel for analysis in kernels])
    return sorted(targets, key=lambda target: -(target.priority or target.share or 0.0)), skipped


def no_kernel_fits(pattern: str, kernels: Sequence[str]) -> UsageError:
    """The error for a pattern that selects none of the program's kernels."""
    return UsageError(f"--kernel {pattern} matches no kernel of the program", f"it has {', '.join(kernels) or 'none'}")


def _target(analysis: KernelAnalysis, source: HipSource, share: Mapping[str, float | None]) -> Target | None:
    """The target for a kernel; None if the source does not contain it."""
    kernel = _find_kernel(analysis.kernel, source)
    if kernel is None:
        return None
    overloaded = [other.name for other in source.kernels].count(kernel.name) > 1
    return Target(
        kernel=(kernel.demangled or kernel.identity) if overloaded else kernel.name,
        demangled=analysis.kernel,
        dispatches=analysis.dispatches,
        time_ms=analysis.time_ms,
        share=share.get(analysis.kernel, analysis.critical_path_score),
        headroom=analysis.headroom.fraction,
        priority=analysis.headroom.priority,
        bottleneck=analysis.bottleneck.name,
        waited_cycles=waits_of(analysis, source.path.name),
        stack=stack_of(analysis, source.path.name),
    )


def _find_kernel(demangled: str, source: HipSource) -> SourceKernel | None:
    """The source kernel for this name from the trace, matched by signature or, for an instantiation, by the template's name."""
    exact_match = next((kernel for kernel in source.kernels if kernel.demangled == demangled), None)
    name = qualified_name(demangled)
    if exact_match is not None:
        return exact_match
    templates = [k for k in source.kernels if k.template is not None and qualified_name(k.name) == name]
    return templates[0] if len(templates) == 1 else None  # with several templates, it is unknown which one it comes from


def _why_not_in_source(demangled: str, source: HipSource) -> str:
    """Why the kernel does not count as one of the source's kernels and, if another file contains it, where it is."""
    name = qualified_name(demangled)
    if any(qualified_name(kernel.name) == name for kernel in source.kernels):
        return f"it is one of several templates with its name in {source.path.name}"
    files = dict.fromkeys(file for unit in (source, *source.other_units) for file in files_with_kernels(unit.device, name))
    other_files = ", ".join(str(file) for file in files if file.resolve() != source.path.resolve())
    how = f"; it is in {other_files}: name that file with --source" if other_files else ""
    return f"it is not defined in {source.path.name}{how}"


def _siblings(target: Target, kernels: Sequence[KernelAnalysis]) -> tuple[Target, ...]:
    """The template's other instantiations, without times, since their potential gain is not needed."""
    base = qualified_name(target.demangled)
    return tuple(
        Target(target.kernel, other.kernel, other.dispatches, None, None, None, None, "")
        for other in kernels
        if qualified_name(other.kernel) == base and other.kernel != target.demangled
    )


def _largest_gain(target: Target) -> float | None:
    return target.share if target.priority is None else target.priority


def waits_of(analysis: KernelAnalysis, file: str) -> dict[int, int]:
    """Line -> cycles for which waves waited for its accesses. file: the name of the source."""
    trace = analysis.thread_trace
    lines: dict[int, int] = {}
    for line in trace.hot_lines if trace else ():
        for location in line.source.split(" -> "):  # inlined code also counts towards each place from which it was called
            name, _, number = location.rpartition(":")
            if number.isdigit() and name.rsplit("/", 1)[-1] == file:
                lines[int(number)] = lines.get(int(number), 0) + line.waited_cycles
    return lines


def stack_of(analysis: KernelAnalysis, file: str) -> KernelTimeStack | None:
    """The time stack, with the lines of the file called `file`; None without experiments."""
    time_stack = analysis.thread_trace.time_stack if analysis.thread_trace is not None else None
    if time_stack is None or not time_stack.without_ns:
        return None
    lines: dict[int, dict[str, int]] = {}
    for line in time_stack.lines:
        name, _, number = line.source.rpartition(":")
        if number.isdigit() and name.rsplit("/", 1)[-1] == file:
            lines[int(number)] = dict(line.by_cause_ns)
    return KernelTimeStack(
        time_stack.duration_ns, tuple(time_stack.causes), tuple(time_stack.without_ns), lines, time_stack.alone_ns
    )


def spread_dispatches(count: int, limit: int = 3) -> Sequence[int]:
    """The numbers of the first, middle and last of `count` dispatches, without duplicates; at most `limit` of them."""
    return sorted({0, count // 2, count - 1})[:limit] if count > 0 else []
