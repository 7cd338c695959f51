"""A report's answer in a few lines, for those who read no further; the rest of the report explains it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.bottleneck_thresholds import factors as all_factors
from rocm_perf_lab.report.dag_schema import DagDocument
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import BottleneckSection, HeadroomSection, KernelAnalysis, ModelErrorSection, SamplingSection
from rocm_perf_lab.report.terminal_graph import IDLE_CAUSES
from rocm_perf_lab.report.terminal_next import first_advice
from rocm_perf_lab.report.terminal_paragraphs import labelled
from rocm_perf_lab.report.terminal_time_stack import in_short
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, shorten
from rocm_perf_lab.text.quantities import duration, percent

if TYPE_CHECKING:
    from rich.console import Console

_MAX_ADVICE = 2
_CERTAINTY_WORDS = {"high": "certain", "medium": "likely", "low": "uncertain"}
_MOSTLY = 0.5


def kernel_of_interest(documents: CoreDocuments) -> KernelAnalysis:
    """Of the program's own kernels that the report covers, the kernel with the most time on the critical path; the profile's
    kernel if none of them is on the path, or the path is not known.
    """
    by_name = {kernel.kernel: kernel for kernel in documents.analysis.kernels}
    on_path = [symbol.kernel for symbol in documents.dag.symbols if symbol.kind == "kernel" and symbol.critical_path_ns]
    return next((by_name[name] for name in on_path if name in by_name), by_name[documents.profile.kernel.name])


def render_answer(dag: DagDocument, kernel: KernelAnalysis, names: KernelNames, console: Console) -> None:
    """Print the kernel, the cause, the headroom and what to try first, in a line or two each."""
    for label, text in answer(dag, kernel, names):
        labelled(console, label, text)


def answer(dag: DagDocument, kernel: KernelAnalysis, names: KernelNames) -> Iterator[tuple[str, str]]:
    """The lines of the answer, as pairs of label and text."""
    yield "Kernel", f"{names.prose(kernel.kernel)}{_share_of_path(dag, kernel)}"
    yield "Cause", _cause(kernel)
    if line := _line(kernel):
        yield "Line", line
    if (
        kernel.thread_trace is not None
        and kernel.thread_trace.time_stack
        and (parts := in_short(kernel.thread_trace.time_stack))
    ):
        yield "Spent", parts
    if idle := _mostly_idle(dag):
        yield "But", idle
    if kernel.model_error is not None:
        yield "Time", _model_error(kernel.model_error)
    if kernel.sampling is not None:
        yield "Sample", _sampling(kernel.sampling)
    yield "Gain", _possible_gain(kernel.headroom, dag)
    for advice in first_advice(kernel, _MAX_ADVICE):
        yield "Try", advice


def _share_of_path(dag: DagDocument, kernel: KernelAnalysis) -> str:
    if dag.critical_path_ns is None or kernel.critical_path_score is None:
        return ""
    return f", {percent(kernel.critical_path_score)} of the critical path of {duration(dag.critical_path_ns)}"


def _cause(kernel: KernelAnalysis) -> str:
    bottleneck = kernel.bottleneck
    if bottleneck.by == "experiments":
        return f"{bottleneck.name} ({_CERTAINTY_WORDS[bottleneck.certainty]}, by experiment){_beyond(bottleneck)}"
    factors = ", ".join(factor.name for factor in bottleneck.factors)
    lacking = "; ".join(dict.fromkeys(bottleneck.undecided.values()))
    why = f" ({shorten(lacking or bottleneck.why, 100)})" if bottleneck.score is None else ""
    sure = f" ({_CERTAINTY_WORDS[bottleneck.certainty]})" if bottleneck.score is not None else ""
    return f"{bottleneck.name}{why or sure}{f'; {factors}' if factors else ''}"


def _beyond(bottleneck: BottleneckSection) -> str:
    """The cause that would remain if the grid filled the device, and the factors that the counters show."""
    named = {bottleneck.name, bottleneck.on_full_device}
    costs = {factor.name: set(factor.causes) or {factor.name} for factor in all_factors()}
    factors = ", ".join(factor.name for factor in bottleneck.factors if not costs.get(factor.name, set()) & named)
    beyond = f"; {bottleneck.on_full_device} on a grid that fills the device" if bottleneck.on_full_device else ""
    return f"{beyond}{f'; {factors}' if factors else ''}"


def _line(kernel: KernelAnalysis) -> str:
    """The source line that matters most; '' if lines are not known."""
    traced = kernel.thread_trace
    if traced is not None and traced.time_stack is not None and traced.time_stack.lines:
        first = traced.time_stack.lines[0]
        return f"{first.source}: without it {percent(first.gain_ns / traced.time_stack.duration_ns)} less time"
    if traced is not None and traced.waited_for is not None:
        return f"{traced.waited_for.source}: waves wait longest for its accesses"
    return ""


def _mostly_idle(dag: DagDocument) -> str:
    """What the most idle GPU waited for; '' if every GPU ran kernels most of the time. A GPU that mostly waits is not held back
    by a kernel.
    """
    idle = [gpu for gpu in dag.idle if gpu.fraction >= _MOSTLY]
    if not idle:
        return ""
    idlest = max(idle, key=lambda gpu: gpu.fraction)
    ns, cause = max((ns, cause) for cause, ns in idlest.by_cause_ns.items())
    where = f"GPU agent {idlest.agent}" if len(dag.idle) > 1 else "the GPU"
    other_gpus = len(idle) - 1
    also = f"; {other_gpus} other GPU{'s' if other_gpus > 1 else ''} mostly waited as well" if other_gpus else ""
    return (
        f"{where} ran no kernel for {percent(idlest.fraction)} of its span: "
        f"{duration(ns)} of it waiting {IDLE_CAUSES[cause]}{also}"
    )


def _model_error(error: ModelErrorSection) -> str:
    return f"modelled; measured times of such kernels were within ±{percent(error.within)} (4 of 5)"


def _sampling(sampling: SamplingSection) -> str:
    return (
        f"observed only in part: its time is within ±{percent(sampling.time_error)} of what full observation would give; "
        f"{len(sampling.counter_errors)} counters are estimates, with errors in analysis.json"
    )


def _possible_gain(headroom: HeadroomSection, dag: DagDocument) -> str:
    """The possible gain for the whole program, not only for the kernel."""
    if headroom.program_speedup is not None:
        ceiling = (
            f"without this kernel's losses ({headroom.binding} remains)"
            if headroom.by == "experiments"
            else f"with this kernel at its ceiling ({headroom.binding})"
        )
        return f"at most {quantities.times(headroom.program_speedup)} for the GPU's span, {ceiling}"
    if dag.speedup_ceiling is not None:
        return f"at most {quantities.times(dag.speedup_ceiling)} for the GPU's span, if this kernel took no time"
    return f"not known: {shorten(headroom.reasons.get('program_speedup', 'the path is not known'), 100)}"
