"""`rocm-perf compare`: what changed between runs of two builds, and whether that exceeds limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.errors import LimitExceededError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.comparison.limits import Limit

_PATH = click.Path(path_type=Path)


class _Limit(ParamType["Limit"]):
    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Limit:
        from rocm_perf_lab.comparison.limits import Limit

        if isinstance(value, Limit):
            return value
        try:
            return Limit.of(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("base", type=_PATH)
@click.argument("new", nargs=-1, required=True, type=_PATH, metavar="NEW...")
@click.option(
    "--fail-on", "limits", type=_Limit(), multiple=True, metavar="METRIC>CHANGE",
    help="Exit with code 54 if a change exceeds this: 'time>2%', 'kernel_time>50us', 'scratch>0', 'occupancy<0', "
    "'SQ_INSTS_VALU>10%'. METRIC is time, dispatches, path, vgprs, agprs, sgprs, lds, scratch or occupancy of any of the "
    "program's kernels, kernel_time or span of the program, or a counter. Measured times must exceed it beyond doubt. "
    "Repeatable.",
)  # fmt: skip
@kernel_option("Kernels to compare; kernel_time and span remain those of the whole program")
@click.option("--markdown", is_flag=True, help="Print Markdown instead of text, e.g. for a comment on a pull request.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--verbose", "-v", is_flag=True, help="Show all kernels and all counters that changed.")
@debug_option
def command(
    base: Path,
    new: tuple[Path, ...],
    limits: tuple[Limit, ...],
    kernel: str | None,
    markdown: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Compare each NEW with BASE, kernel by kernel: time, registers, memory, occupancy, counters, bottleneck.

    BASE and NEW: a run directory, a rocpd database, a capture, or a folder with several of them, which are then runs of the
    same build. Kernels are matched by name and, if they were renamed, by their code or the shape of their launches. Neither
    a GPU nor ROCm is needed. Exit code: 54 if a limit is exceeded.
    """
    if markdown and as_json:
        raise UsageError("--markdown and --json exclude each other", "give one of them")
    from rocm_perf_lab.comparison.compare import compare

    document = compare([base, *new], limits, kernel)
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
