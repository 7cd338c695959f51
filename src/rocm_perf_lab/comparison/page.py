"""The comparison as a single HTML file."""

from __future__ import annotations

from typing import Any

from rocm_perf_lab import __version__
from rocm_perf_lab.comparison.compare_document import (
    ChangeSection,
    CompareDocument,
    ComparisonSection,
    KernelSection,
    LimitSection,
    SideSection,
)
from rocm_perf_lab.comparison.exact_change import counter_changes
from rocm_perf_lab.comparison.metrics import TIME
from rocm_perf_lab.comparison.words import interval, other_changes, percent, value
from rocm_perf_lab.report.html.page_parts import assemble, file_text, texts
from rocm_perf_lab.text.names import KernelNames

_PROGRAM = {"kernel_time": "Kernels", "span": "Span"}
_PACKAGE = "rocm_perf_lab.comparison"


def page(document: CompareDocument) -> str:
    """The text of the page. The same comparison always gives the same text."""
    state = "limits exceeded" if document.exceeded else "limits kept"
    limited = any(comparison.limits for comparison in document.comparisons)
    title = f"Comparison with {document.base.path}{f': {state}' if limited else ''}"
    modelled = document.base.timing == "modelled"
    data = {
        "title": title,
        "modelled": "MODELLED: no GPU ran this. Cache traffic and every time come from models." if modelled else None,
        "base": document.base.path,
        "comparisons": [_comparison(document.base, comparison) for comparison in document.comparisons],
        "made": f"Made by rocm-perf-lab {__version__}.",
    }
    data = texts(data)
    return assemble(data["title"], file_text("page.html", _PACKAGE), data, [file_text("page.js", _PACKAGE)], with_d3=False)


def _comparison(base: SideSection, comparison: ComparisonSection) -> dict[str, Any]:
    names = KernelNames([kernel.kernel for kernel in comparison.kernels] + comparison.gone + comparison.added)
    kernels = [kernel for kernel in comparison.kernels if not kernel.is_runtime] or comparison.kernels
    known = [change for change in comparison.program if change.base is not None or change.new is not None]
    return {
        "new": comparison.new.path,
        "answer": [
            ["GPU", f"{comparison.new.gpu} ({comparison.new.target}), times {comparison.new.timing}"],
            ["Runs", f"{base.runs} before, {comparison.new.runs} after"],
            ["Program", comparison.new.command],
            *([_PROGRAM[change.metric], _in_words(change)] for change in known),
        ],
        "limits": [_limit(limit) for limit in comparison.limits],
        "kernels": [_kernel(kernel, names) for kernel in kernels],
        "gone": comparison.gone,
        "added": comparison.added,
        "notes": comparison.notes,
    }


def _limit(limit: LimitSection) -> dict[str, Any]:
    return {"limit": limit.limit, "exceeded": limit.exceeded, "by": limit.by, "undecided": limit.undecided}


def _in_words(change: ChangeSection) -> str:
    text = f"{value(change.base, change.unit)} → {value(change.new, change.unit)}, {percent(change.change)}"
    return f"{text} ({interval(change)})" if change.interval else text


def _kernel(kernel: KernelSection, names: KernelNames) -> dict[str, Any]:
    time = next(change for change in kernel.changes if change.metric == TIME)
    changed = [change for change in counter_changes(kernel) if change.verdict != "same"]
    changed.sort(key=lambda change: -abs(change.change if change.change is not None else float("inf")))
    return {
        "name": str(names.cell(kernel.kernel)),
        "full": f"{kernel.was} → {kernel.kernel}" if kernel.was else kernel.kernel,
        "time": {
            "base": time.base,
            "new": time.new,
            "before": value(time.base, time.unit),
            "after": value(time.new, time.unit),
            "change": time.change,
            "text": percent(time.change),
            "interval": interval(time),
            "low": time.interval.low - 1 if time.interval else None,
            "high": time.interval.high - 1 if time.interval else None,
            "verdict": time.verdict,
        },
        "other": list(other_changes(kernel)),
        "changes": [_row(change) for change in kernel.changes],
        "counters": [_row(change) for change in changed],
        "same": kernel.same_counters,
    }


def _row(change: ChangeSection) -> list[str]:
    return [change.metric, value(change.base, change.unit), value(change.new, change.unit), percent(change.change)]
