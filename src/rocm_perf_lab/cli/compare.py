"""`rocm-perf compare`: what changed between runs of two builds, and whether that exceeds limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.limit_option import limit_option
from rocm_perf_lab.cli.page_file import write_page
from rocm_perf_lab.errors import LimitExceededError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.comparison.limits import Limit

_PATH = click.Path(path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("base", type=_PATH)
@click.argument("new", nargs=-1, required=True, type=_PATH, metavar="NEW...")
@limit_option
@kernel_option("Kernels to compare; kernel_time and span remain those of the whole program")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of text, e.g. for a comment on a pull request.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the comparison as an HTML page as well.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--verbose", "-v", is_flag=True, help="Show all kernels and all counters that changed.")
@debug_option
def command(
    base: Path,
    new: tuple[Path, ...],
    limits: tuple[Limit, ...],
    kernel: str | None,
    markdown: bool,
    html: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Compare each NEW with BASE, kernel by kernel: time, registers, memory, occupancy, counters and bottleneck.

    BASE and NEW: a run directory, a rocpd database, a capture, or a folder with several of them, which then count as runs of
    the same build. Kernels are matched by name and, if they were renamed, by their code or the shape of their launches. Neither
    a GPU nor ROCm is needed. Exit code: 54 if a limit is exceeded.
    """
    if markdown and as_json:
        raise UsageError("--markdown cannot be combined with --json", "give one of them")
    from rocm_perf_lab.comparison.compare import compare

    document = compare([base, *new], limits, kernel)
    if html is not None:
        from rocm_perf_lab.comparison.page import page

        write_page(html, page(document))
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(document))
    elif markdown:
        from rocm_perf_lab.comparison.markdown import to_markdown

        click.echo(to_markdown(document), nl=False)
    else:
        from rocm_perf_lab.comparison.terminal import render

        render(document, stdout_console(), verbose)
    return LimitExceededError.exit_code if document.exceeded else 0
