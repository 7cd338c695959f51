"""`rocm-perf source`: the source lines of a run's kernels, with what they cost and what they wait for."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", required=False, type=click.Path(path_type=Path), metavar="[RUN]")
@kernel_option("Kernels to show")
@click.option("--isa", is_flag=True, help="Show the instructions of each line as well, with the accesses they wait for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@debug_option
def command(run: Path | None, kernel: str | None, isa: bool, as_json: bool) -> None:
    """Show the source lines of the kernels in RUN with the cycles that a thread trace counted for them.

    RUN: a run directory; by default the newest in the current folder. Neither the program nor its source is needed: the
    run directory contains the lines. Line numbers need -g.
    """
    from rocm_perf_lab.report.read_source import newest_run, read_source

    document = read_source(run or newest_run(Path()), kernel)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(document))
        return
    from rocm_perf_lab.report.terminal_source import render_source

    render_source(document, stdout_console(), isa)
