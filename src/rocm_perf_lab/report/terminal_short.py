"""The report that commands print by default: what ran, what holds it back, what to try, and where to find the rest."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from rocm_perf_lab.report.dag_schema import WhatIfSection
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import ProfileDocument
from rocm_perf_lab.report.terminal import is_calibrated
from rocm_perf_lab.report.terminal_answer import answer, kernel_of_interest
from rocm_perf_lab.report.terminal_paragraphs import labelled, say
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames
from rocm_perf_lab.text.quantities import percent

_MAX_LINES, _HEAD = 15, 3  # lines in total, and lines above the answer
MODELLED = "MODELLED: no GPU ran this. Cache traffic and every time come from models."
UNCALIBRATED = "MODELLED, not calibrated: no GPU ran this. Traffic and times come from models."


def render_short(documents: CoreDocuments, directory: Path, console: Console) -> None:
    """Print the report. Advice is dropped so that it usually stays within 15 lines; the lines about what-if scenarios are
    printed in addition.

    directory: the path of the run directory.
    """
    profile, kernel = documents.profile, kernel_of_interest(documents)
    say(console, f"{profile.run.command} on {profile.gpu.product} ({profile.gpu.target}){_time(profile)}", "bold", indent=0)
    if profile.timing == "modelled":
        say(console, MODELLED if is_calibrated(profile) else UNCALIBRATED, "bold yellow", indent=0)
    console.print()
    lines = list(answer(documents.dag, kernel, KernelNames(analysed.kernel for analysed in documents.analysis.kernels)))
    page = directory / "report.html"
    in_browser = f", or {page} in a browser" if page.exists() else ""
    more = "More", f"rocm-perf report {shlex.quote(str(directory))}{in_browser}"
    # Advice that does not fit is dropped, the least important first; the full report contains it.
    while lines[-2][0] == "Try" and _height([*lines, more], console.width) > _MAX_LINES - _HEAD:
        lines.pop()
    for label, text in lines:
        labelled(console, label, text)
    for asked in (scenario for scenario in documents.dag.what_if if scenario.pattern is not None):
        labelled(console, "What if", _what_if(asked))
    labelled(console, *more)


def _height(lines: Sequence[tuple[str, str]], width: int) -> int:
    out = io.StringIO()
    console = Console(file=out, width=width)
    for label, text in lines:
        labelled(console, label, text)
    return out.getvalue().count("\n")


def _what_if(scenario: WhatIfSection) -> str:
    if not scenario.kernels:
        return f"no kernel matches {scenario.pattern}"
    faster = f"{scenario.pattern} were {quantities.times(scenario.factor)} faster: the GPU's span would be"
    return f"{faster} {quantities.duration(scenario.span_ns)}, a gain of {quantities.times(scenario.speedup)}"


def _time(profile: ProfileDocument) -> str:
    if profile.runtime_ms is None:
        return f": the time in kernels is not known ({profile.reasons['runtime_ms']})"
    stability = profile.stability
    spread = f" ({stability.classification}: ± {percent(stability.cv)} in {stability.runs} runs)" if stability.cv else ""
    return f", {quantities.milliseconds(profile.runtime_ms)} in kernels{spread}"
