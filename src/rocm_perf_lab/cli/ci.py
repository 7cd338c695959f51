"""`rocm-perf ci`: how a change to the source affects the performance of programs, for pull requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.limit_option import limit_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.program_arguments import device_option, device_options_option
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import LimitExceededError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.comparison.limits import Limit


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--base", required=True, metavar="REVISION",
    help="Revision to compare with, such as origin/main, at the commit where the head branched off.",
)  # fmt: skip
@click.option("--head", default="HEAD", show_default=True, metavar="REVISION", help="Revision to check.")
@click.option(
    "--build", "builds", multiple=True, metavar="COMMAND",
    help="Command that builds a revision, run at the top of its checkout, without a shell. Repeatable; several run in order.",
)  # fmt: skip
@click.option(
    "--program", "programs", multiple=True, required=True, metavar="[NAME=]COMMAND",
    help="Program to profile, relative to the top of the checkout, with its arguments; NAME is the name of its results, by "
    "default the program's. Repeatable.",
)  # fmt: skip
@limit_option
@device_option
@device_options_option
@click.option("--runs", type=click.IntRange(min=1), help="Number of runs of each program.  [default: as for `profile`]")
@click.option("--timeout", type=FiniteNumber(min=0, min_open=True), metavar="SECONDS", help="Timeout per run of a program.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default=Path("rocm-perf-ci"), show_default=True, metavar="DIR",
    help="Folder for all results; the results of an earlier check in it are replaced.",
)  # fmt: skip
@click.option("--markdown", is_flag=True, help="Print Markdown instead of text; also written to DIR/summary.md.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text; also written to DIR/ci.json.")
@debug_option
def command(
    base: str,
    head: str,
    builds: tuple[str, ...],
    programs: tuple[str, ...],
    limits: tuple[Limit, ...],
    device: str,
    device_options: tuple[str, ...],
    runs: int | None,
    timeout: float | None,
    output: Path,
    markdown: bool,
    as_json: bool,
) -> int:
    """Build two revisions of this git repository, profile programs of both, and compare them.

    Without a GPU, the programs run on the software device, whose times are the same in every run. DIR receives a run directory
    for every program and revision (with report.html), summary.md, junit.xml and ci.json. Both revisions are built and run with
    your permissions, as in any CI system. Exit code: 54 if a limit is exceeded; that of `profile` if a program fails.
    """
    if markdown and as_json:
        raise UsageError("--markdown cannot be combined with --json", "give one of them")
    from rocm_perf_lab.ci.check import check
    from rocm_perf_lab.ci.files import write_files
    from rocm_perf_lab.ci.request import CiProgram, CiRequest

    request = CiRequest(
        base=base,
        head=head,
        builds=builds,
        programs=[CiProgram.of(text) for text in programs],
        limits=limits,
        output=output,
        device=device,
        device_options=device_options,
        runs=runs,
        timeout=timeout,
    )
    document, failure = check(request, Path.cwd(), note)
    write_files(document, output)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(document))
    elif markdown:
        from rocm_perf_lab.ci.markdown import to_markdown

        click.echo(to_markdown(document), nl=False)
    else:
        from rocm_perf_lab.ci.terminal import render

        render(document, stdout_console())
    if failure is not None:
        raise failure
    return LimitExceededError.exit_code if document.exceeded else 0
