"""`rocm-perf mcp`: offers the commands as tools for agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rocm_perf_lab.cli.change_options import cage_options
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.extras import missing_extra


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path(), metavar="DIR",
    help="Folder in which commands run unless a call names another.  [default: the current folder]",
)  # fmt: skip
@cage_options
@debug_option
@click.pass_context
def command(ctx: click.Context, /, folder: Path, **cage: Any) -> None:
    """Serve profile, analyze, compare, explain, source, prompt, gate, isolate, replay, autotune, optimize and doctor as MCP
    tools on standard input and output.

    A client starts the server and ends it by closing the input. A tool accepts what its command accepts and returns the most
    important parts of the JSON that the command prints; the tool `read` returns the rest. Commands run one at a time;
    cancelling a call stops its command. The cage options apply to all tools that use a cage, and calls cannot change them.
    """
    try:
        import anyio
        import mcp.server  # noqa: F401
    except ImportError as error:
        raise missing_extra("`rocm-perf mcp` needs the Python package mcp", "mcp") from error
    from rocm_perf_lab.mcp.server import serve

    anyio.run(serve, ctx.find_root().command, folder.absolute(), cage)
