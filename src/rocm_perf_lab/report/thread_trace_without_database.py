"""Reports on thread traces without a database of the run: what the traces alone show about the kernels."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis import time_stack_verdict
from rocm_perf_lab.analysis.bottleneck import classify
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.analysis.thread_trace.traced_kernels import traced_kernels
from rocm_perf_lab.analysis.thread_trace_evidence import from_thread_trace
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.report import schema, shared_sections
from rocm_perf_lab.report.terminal_paragraphs import heading, say
from rocm_perf_lab.report.thread_trace import describe, thread_trace_section
from rocm_perf_lab.text.names import short_name

NO_DATABASE = (
    "a thread trace covers some waves on one CU: times, occupancy, roofline and critical path need a database of a run of "
    "the program (`rocprofv3 --output-format rocpd`, given along with it as TRACE --thread-trace DIR)"
)


def traced_only(folder: Path) -> schema.ThreadTraceDocument:
    """Analyse the traces in or below `folder`. Raises TraceError if none can be read."""
    traced = traced_kernels(folder, None)
    if not traced.by_symbol:
        raise TraceError(f"{folder}: {traced.reason}", "trace again, or give the folder of a different trace")
    ordered = sorted(traced.by_symbol.values(), key=lambda findings: -(findings.instructions.value or 0))
    return schema.ThreadTraceDocument(
        tool=schema.Tool(version=__version__),
        kernels=[_kernel(findings) for findings in ordered],
        notes=[*traced.notes, NO_DATABASE],
    )


def _kernel(findings: ThreadTraceFindings) -> schema.TracedKernel:
    evidence = Evidence(from_thread_trace(findings, None))
    verdict = classify(evidence)
    if findings.stack is not None:
        verdict = time_stack_verdict.verdict(findings.stack, verdict, None, on_software_device=True)
    return schema.TracedKernel(
        kernel=findings.kernel or findings.symbol or "",
        symbol=findings.symbol or "",
        bottleneck=shared_sections.bottleneck(verdict, evidence),
        thread_trace=thread_trace_section(findings),
    )


def render_traced(document: schema.ThreadTraceDocument, console: Console) -> None:
    for kernel in document.kernels:
        verdict = kernel.bottleneck
        heading(console, f"What holds {short_name(kernel.kernel)} back")
        say(console, f"{verdict.name}: {verdict.why} (certainty: {verdict.certainty}).", style="bold")
        describe(kernel.thread_trace, lambda text: say(console, text))
        for line in verdict.advice:
            say(console, f"- {line}")
    heading(console, "Read these numbers with care")
    for note in document.notes:
        say(console, f"- {note}.", style="dim")
