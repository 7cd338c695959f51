"""`rocm-perf report`: prints the report on an earlier run."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.printed_report import print_json, print_report


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--short", is_flag=True, help="Print only what matters most, as `profile` does.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead; for a single DIR.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Regenerate the report.html of a single DIR as FILE.")  # fmt: skip
@debug_option
def command(runs: tuple[Path, ...], short: bool, as_json: bool, html: Path | None) -> None:
    """Print the whole report on run directories that `profile` or `analyze` has written.

    Neither the program nor its traces are needed, not even for --html: the page is made from the documents in DIR, with the
    ceilings, windows and what-ifs of the analysis that wrote them. For a run with several ranks, name one rank's folder.
    """
    from rocm_perf_lab.cli.page_file import write_page
    from rocm_perf_lab.errors import UsageError
    from rocm_perf_lab.report.read_run_directory import read_run_directory

    if as_json and len(runs) > 1:
        raise UsageError(f"--json prints a single run, but {len(runs)} are given", "name one of them")
    if html is not None:
        from rocm_perf_lab.report.html.page_of_run_directory import page_of_run_directory

        if len(runs) > 1:
            raise UsageError(f"--html shows a single run, but {len(runs)} are given", "name one of them")
        write_page(html, page_of_run_directory(runs[0]))
    for number, directory in enumerate(runs):
        summary, reports = read_run_directory(directory)
        if as_json:
            print_json(reports, summary, directory)
            return
        if number:
            click.echo()
        print_report(reports, summary, directory, verbose=not short)
