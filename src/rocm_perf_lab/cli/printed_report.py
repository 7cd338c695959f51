"""How `profile`, `analyze` and `report` print what they found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.console import stdout_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocm_perf_lab.report.documents import CoreDocuments
    from rocm_perf_lab.report.schema import SummaryDocument

verbose_option = click.option("--verbose", "-v", is_flag=True, help="Print the whole report, not only what matters most.")


def print_json(reports: Sequence[CoreDocuments], summary: SummaryDocument | None, directory: Path) -> None:
    """Print the reports as one JSON object. reports: one per rank. summary: None for a single rank."""
    from rocm_perf_lab.json_model import json_text
    from rocm_perf_lab.report.profile_output import profile_output, ranks_output

    document = profile_output(reports[0], directory) if summary is None else ranks_output(summary, list(reports), directory)
    click.echo(json_text(document))


def print_report(reports: Sequence[CoreDocuments], summary: SummaryDocument | None, directory: Path, verbose: bool) -> None:
    """Print the report as text: for several ranks, an overview and the slowest rank's report. verbose: leave nothing out."""
    from rocm_perf_lab.report.terminal import render
    from rocm_perf_lab.report.terminal_ranks import render_ranks
    from rocm_perf_lab.report.terminal_short import render_short

    console = stdout_console()
    if summary is not None:
        render_ranks(summary, console)
    of_interest = reports[0 if summary is None else summary.slowest_rank or 0]
    if not verbose:
        render_short(of_interest, directory, console)
        return
    render(of_interest, console)
    console.print(f"\nRun directory: {directory}", highlight=False, soft_wrap=True)
