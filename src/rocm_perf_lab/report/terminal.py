"""The terminal report: what was found, why, and what to try next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.fuzzy_score import HOLDS
from rocm_perf_lab.arch.timing_parameters import UNCALIBRATED_TARGETS
from rocm_perf_lab.report.dag_schema import DagDocument
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.program_time_stack import render_program_stack
from rocm_perf_lab.report.schema import (
    BottleneckSection,
    Document,
    EvidenceItem,
    KernelAnalysis,
    OccupancySection,
    ProfileDocument,
    RooflineSection,
    SignalSection,
    StabilitySection,
)
from rocm_perf_lab.report.terminal_answer import kernel_of_interest, render_answer
from rocm_perf_lab.report.terminal_gains import render_gains
from rocm_perf_lab.report.terminal_graph import render_idle, render_next_in_line, render_what_if
from rocm_perf_lab.report.terminal_next import render_next
from rocm_perf_lab.report.terminal_paragraphs import heading as _heading
from rocm_perf_lab.report.terminal_paragraphs import say as _say
from rocm_perf_lab.report.terminal_roofs import render_all_roofs, render_roof
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.report.thread_trace import describe
from rocm_perf_lab.report.triton import sentences
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell, shorten
from rocm_perf_lab.text.quantities import duration, percent

if TYPE_CHECKING:
    from rich.console import Console

_MAX_SYMBOLS = 8

# How certain a verdict is: _CERTAINTY_WORDS if it is based on all numbers, _NOT_SURE if some numbers are missing.
_CERTAINTY_WORDS = {
    "high": "Certain: no missing number could change it",
    "medium": "Likely: another class comes close",
    "low": "Uncertain: another class comes very close",
}
_NO_CLASS_APPLIES = f"Uncertain: no class reaches {HOLDS:.2f}"
_NOT_SURE = {
    "medium": "Likely: missing numbers could change it",
    "low": "Uncertain: missing numbers could well change it",
}


def render(documents: CoreDocuments, console: Console) -> None:
    """Print the report on the kernel that dominates the critical path: first the answer, then its basis.

    If the console is not a terminal, the report is plain text.
    """
    profile, dag = documents.profile, documents.dag
    kernel = kernel_of_interest(documents)
    roof = next((roof for roof in documents.roofline.kernels if roof.kernel == kernel.kernel), None)
    names = KernelNames(_kernels(documents))
    _title(profile, console)
    _heading(console, "In short")
    render_answer(dag, kernel, names, console)
    _which_kernel(dag, names, console)
    for note in dag.notes:
        _say(console, f"- {note}.")
    if kernel.kernel != profile.kernel.name:
        longest = names.prose(profile.kernel.name)
        _say(console, f"The longest single dispatch ({duration(profile.kernel.duration_ns)}) is one of {longest}.")
    _what_holds_it_back(kernel, roof, names, console)
    render_all_roofs(documents, names, console)
    _headroom(kernel, console)
    _priorities(documents, names, console)
    render_program_stack(dag.program_stack, names, console)
    render_gains(documents, names, console)
    render_next(profile, kernel, console)
    _notes([*kernel.notes, *kernel.occupancy.notes], console)


def _kernels(documents: CoreDocuments) -> list[str]:
    """All kernels that the report can name."""
    in_what_if = [name for scenario in documents.dag.what_if for name in scenario.kernels]
    return [*(symbol.kernel for symbol in documents.dag.symbols), *(kernel.kernel for kernel in documents.analysis.kernels),
            *(roof.kernel for roof in documents.roofline.kernels), *in_what_if, documents.profile.kernel.name]  # fmt: skip


def _title(profile: ProfileDocument, console: Console) -> None:
    gpu = profile.gpu
    where = f"{gpu.product} ({gpu.target})"
    _say(console, f"{profile.run.command} on {where}", style="bold", indent=0)
    if profile.timing == "modelled":
        _say(console, modelled_label(profile), style="bold yellow", indent=0)
    _say(console, _runtime(profile), indent=0)


def modelled_label(document: Document) -> str:
    """The label that must accompany every time that was not measured on hardware."""
    device = f"The {document.gpu.software_device or 'software device'}"
    calibrated = "" if is_calibrated(document) else " Not calibrated: none of its parameters was fitted to recorded times."
    return (
        f"MODELLED: no GPU ran this. {device} executed the program and counted its instructions; "
        f"cache traffic and every time come from its models.{calibrated}"
    )


def is_calibrated(document: Document) -> bool:
    """Whether any parameter of the timing model was fitted to times recorded on such a GPU."""
    return document.gpu.target not in UNCALIBRATED_TARGETS


def _runtime(profile: ProfileDocument) -> str:
    if profile.runtime_ms is None:
        return f"Time in kernels: not known ({profile.reasons['runtime_ms']})."
    return f"Time in kernels: {duration(profile.runtime_ms * 1e6)}{_spread(profile.stability, profile.timing)}."


def _spread(stability: StabilitySection, timing: str) -> str:
    if stability.cv is None:
        return (
            " (one run, and modelled time is the same in every run)"
            if timing == "modelled"
            else " (one run, so the spread is not known)"
        )
    warning = "; unstable: do not compare with it" if stability.classification == "unstable" else ""
    if timing == "modelled" and stability.cv == 0:
        return f" (the same in all {stability.runs} runs, as modelled time should be)"
    return (
        f", the median of {stability.runs} runs (spread {percent(stability.cv)} of the mean: "
        f"{stability.classification}{warning})"
    )


def _which_kernel(dag: DagDocument, names: KernelNames, console: Console) -> None:
    _heading(console, "Which kernel holds the program back")
    if dag.dominant_symbol is None:
        _say(console, f"Not known: {dag.reasons['dominant_symbol']}.")
        return
    ceiling = (
        f"at most {quantities.times(dag.speedup_ceiling)} faster" if dag.speedup_ceiling else "at once: it is the whole path"
    )
    _say(
        console,
        f"{names.prose(dag.dominant_symbol)}: {percent(dag.fraction)} of the critical path of "
        f"{duration(dag.critical_path_ns)}. Even if it took no time, the GPU would finish {ceiling}.",
    )
    _say(
        console,
        f"The path: {duration(dag.work_ns)} of kernels and copies{_host(dag)}, {duration(dag.delay_ns)} between "
        f"them, {duration(dag.lead_ns)} before its first; dependencies are {dag.dependencies}.",
    )
    table = Table("kernel or copy", "on path", "of path", "total", "dispatches", "least slack", "could overlap")
    shown = [symbol for symbol in dag.symbols if symbol.kind == "kernel" or symbol.critical_path_ns][:_MAX_SYMBOLS]
    for symbol in shown:
        table.add_row(
            names.cell(symbol.kernel),
            duration(symbol.critical_path_ns),
            percent(symbol.fraction),
            quantities.milliseconds(symbol.total_ms),
            str(symbol.dispatches),
            duration(symbol.min_slack_ns),
            duration(symbol.overlap_potential_ns),
        )
    table.show(console)
    if (left := len(dag.symbols) - len(shown)) > 0:
        _say(console, f"{left} more in dag.json.")
    render_next_in_line(dag, names, console)
    render_what_if(dag, names, console)
    render_idle(dag, console)


def _host(dag: DagDocument) -> str:
    return "" if dag.host_ns is None else f", {duration(dag.host_ns)} of the host's calls and code"


def _what_holds_it_back(kernel: KernelAnalysis, roof: RooflineSection | None, names: KernelNames, console: Console) -> None:
    _heading(console, f"What holds {names.prose(kernel.kernel)} back")
    bottleneck = kernel.bottleneck
    _say(console, f"{bottleneck.name}: {bottleneck.why}{_against_thresholds(bottleneck.evidence)}.", style="bold")
    if bottleneck.by == "experiments":
        _by_experiments(bottleneck, console)
    else:
        _scores(kernel, console)
    for factor in bottleneck.factors:
        _say(console, f"- {factor.name}: {factor.why}{_numbers(factor.evidence)}.")
    _undecided(bottleneck.undecided, console)
    if roof is not None:
        render_roof(roof, console)
    _occupancy(kernel, console)
    for first, *further in sentences(kernel):
        _say(console, first)
        for line in further:
            _say(console, f"- {line}")
    if kernel.thread_trace is not None:
        describe(kernel.thread_trace, lambda text: _say(console, text))


def _by_experiments(bottleneck: BottleneckSection, console: Console) -> None:
    """Print how clear the verdict is."""
    clear = {
        "high": "The next part is much smaller",
        "medium": "The next part is not much smaller",
        "low": "The next part is as large",
    }
    beyond = f" On a grid that fills the device, it would be {bottleneck.on_full_device}." if bottleneck.on_full_device else ""
    _say(console, f"By experiments on the software device, not by its counters. {clear[bottleneck.certainty]}.{beyond}")


def _scores(kernel: KernelAnalysis, console: Console) -> None:
    """Print how certain the verdict is, and how close the other classes come."""
    bottleneck = kernel.bottleneck
    sure = (
        _NO_CLASS_APPLIES
        if bottleneck.score is not None and bottleneck.score < HOLDS and not bottleneck.undecided
        else _CERTAINTY_WORDS[bottleneck.certainty]
        if bottleneck.certainty == "high" or not bottleneck.undecided
        else _NOT_SURE[bottleneck.certainty]
    )
    scores = ", ".join(
        f"{c.name} {quantities.UNKNOWN if c.score is None else format(c.score, '.2f')}" for c in bottleneck.classes
    )
    _say(console, f"{sure}. Scores (a class applies from {HOLDS:.2f} on): {scores}.")


def _undecided(undecided: dict[str, str], console: Console) -> None:
    """Print which classes could not be judged and which numbers they lack, with one line for all classes that lack the same
    numbers.
    """
    for lacking in dict.fromkeys(undecided.values()):
        names = [name for name in undecided if undecided[name] == lacking]
        _say(console, f"- not judged: {', '.join(names)} ({shorten(lacking)}).", style="dim")


def _against_thresholds(evidence: Iterable[SignalSection]) -> str:
    parts = []
    for item in evidence:
        sign = ">=" if item.direction == "at least" else "<="
        threshold = percent(item.threshold) if item.unit == "fraction" else quantities.amount(item.threshold, "")
        parts.append(f"{quantities.evidence(item.name, item.value, item.unit)} {sign} {threshold}")
    return f" ({', '.join(parts)})" if parts else ""


def _numbers(evidence: Iterable[EvidenceItem]) -> str:
    parts = ", ".join(quantities.evidence(item.name, item.value, item.unit) for item in evidence)
    return f" ({parts})" if parts else ""


def _occupancy(kernel: KernelAnalysis, console: Console) -> None:
    resources, occupancy = kernel.resources, kernel.occupancy
    uses = (
        f"{quantities.registers(resources.vgpr_per_thread, resources.accum_vgpr_per_thread, resources.sgpr_per_wave)}, "
        f"{quantities.size(resources.lds_bytes)} LDS per workgroup"
    )
    if resources.scratch_bytes:
        uses += f", {quantities.size(resources.scratch_bytes)} scratch per thread"
    waves, simds = occupancy.resident_waves_per_cu, occupancy.simds_per_cu
    if occupancy.theoretical is None or waves is None or simds is None:
        _say(console, f"Occupancy: not known ({occupancy.reasons['theoretical']}); it uses {uses}.")
        return
    _say(
        console,
        f"Occupancy: {waves} of {occupancy.max_waves_per_cu} waves fit on {quantities.unit(occupancy.unit)} "
        f"({percent(occupancy.theoretical)}), limited by {' and '.join(occupancy.limited_by)}; it uses {uses}."
        f"{_fill(occupancy)}",
    )
    for lift in occupancy.lifts:
        changes = [(change.resource, change.now, change.then) for change in lift.changes]
        text = quantities.lift(changes, waves, lift.resident_waves_per_cu, simds)
        _say(console, f"- would raise it: {text}.")


def _fill(occupancy: OccupancySection) -> str:
    if not occupancy.device_waves or occupancy.waves_in_grid is None:
        return ""
    ratio = occupancy.waves_in_grid / occupancy.device_waves
    return f" Its grid has {occupancy.waves_in_grid:,} waves, {percent(ratio)} of what the device can hold at once."


def _headroom(kernel: KernelAnalysis, console: Console) -> None:
    _heading(console, "Headroom")
    headroom = kernel.headroom
    if headroom.kernel_speedup is None:
        _say(console, f"Not known: {shorten(headroom.reasons['kernel_speedup'])}.")
        return
    program = f", the GPU's span {quantities.times(headroom.program_speedup)}" if kernel.critical_path_score is not None else ""
    condition = (
        f"without its losses ({headroom.binding} remains)"
        if headroom.by == "experiments"
        else f"at its ceiling ({headroom.binding})"
    )
    _say(
        console,
        f"Up to {quantities.times(headroom.kernel_speedup)} for the kernel{program}: {condition}, its dispatches "
        f"would take {quantities.milliseconds(headroom.ceiling_ms)} instead of {quantities.milliseconds(kernel.time_ms)}.",
    )
    _say(console, f"Assumed: {headroom.assumption}.", style="dim")


def _priorities(documents: CoreDocuments, names: KernelNames, console: Console) -> None:
    """Print the program's own kernels, sorted by possible gain. If fewer than two gains are known, print nothing."""
    runtime = {symbol.kernel for symbol in documents.dag.symbols if symbol.kind != "kernel"}
    kernels = [kernel for kernel in documents.analysis.kernels if kernel.kernel not in runtime]
    known = [(priority, kernel) for kernel in kernels if (priority := kernel.headroom.priority)]
    if len(known) < 2:
        return
    table = Table("where to work", "possible gain", "headroom", "of path", "bottleneck")
    for priority, kernel in sorted(known, key=lambda item: -item[0])[:_MAX_SYMBOLS]:
        table.add_row(
            names.cell(kernel.kernel),
            percent(priority),
            percent(kernel.headroom.fraction),
            percent(kernel.critical_path_score),
            NameCell(kernel.bottleneck.name),
        )
    table.show(console)


def _notes(notes: list[str], console: Console) -> None:
    if notes:
        _heading(console, "Read these numbers with care")
        for note in dict.fromkeys(notes):
            _say(console, f"- {note}.", style="dim")
