"""The report that commands print unless asked for more: what ran, what holds it back, what to try, where the rest is."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console

from rocm_perf_lab.report.documents import Reports
from rocm_perf_lab.report.layout import labelled, say
from rocm_perf_lab.report.schema import ProfileDocument, WhatIfSection
from rocm_perf_lab.report.terminal_answer import kernel_of_interest, render_answer
from rocm_perf_lab.text import words
from rocm_perf_lab.text.names import Names

MODELLED = "MODELLED: no GPU ran this. Cache traffic and every time come from models."


def render_short(documents: Reports, directory: Path, console: Console) -> None:
    """Print at most 15 lines of 80 columns. directory: where the run directory is."""
    profile, kernel = documents.profile, kernel_of_interest(documents)
    say(console, f"{profile.run.command} on {profile.gpu.product} ({profile.gpu.target}){_time(profile)}", "bold", indent=0)
    if profile.timing == "modelled":
        say(console, MODELLED, "bold yellow", indent=0)
    console.print()
    render_answer(documents.dag, kernel, Names(one.kernel for one in documents.analysis.kernels), console)
    for asked in (found for found in documents.dag.what_if if found.pattern is not None):
        labelled(console, "What if", _what_if(asked))
    page = directory / "report.html"
    in_browser = f", or {page} in a browser" if page.exists() else ""
    labelled(console, "More", f"rocm-perf report {shlex.quote(str(directory))}{in_browser}")


def _what_if(found: WhatIfSection) -> str:
    if not found.kernels:
        return f"no kernel matches {found.pattern}"
    faster = f"{found.pattern} were {words.times(found.factor)} faster: the GPU's span would be"
    return f"{faster} {words.duration(found.span_ns)}, a gain of {words.times(found.speedup)}"


def _time(profile: ProfileDocument) -> str:
    if profile.runtime_ms is None:
        return f": the time in kernels is not known ({profile.reasons['runtime_ms']})"
    found = profile.stability
    spread = f" ({found.classification}: ± {words.percent(found.cv)} in {found.runs} runs)" if found.cv else ""
    return f", {words.milliseconds(profile.runtime_ms)} in kernels{spread}"
