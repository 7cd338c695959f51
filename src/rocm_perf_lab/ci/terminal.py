"""The findings as text."""

from __future__ import annotations

from rich.console import Console

from rocm_perf_lab.ci.document import CiDocument
from rocm_perf_lab.ci.words import verdict
from rocm_perf_lab.comparison.terminal import render as render_comparison
from rocm_perf_lab.report.terminal_paragraphs import labelled, say

_SHORT = 12


def render(document: CiDocument, console: Console) -> None:
    labelled(console, "Result", verdict(document))
    for label, side in (("Base", document.base), ("Head", document.head)):
        labelled(console, label, f"{side.commit[:_SHORT]} {side.subject}")
    for program in document.programs:
        console.print()
        say(console, f"{program.name}: {program.why or program.command}", indent=0)
        if program.comparison:
            render_comparison(program.comparison, console, everything=False)
