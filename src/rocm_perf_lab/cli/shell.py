"""`rocm-perf shell`: runs a shell, or one command, in the root that `rocm-perf setup` made."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.errors import UnavailableError


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND [ARGUMENT]...]")
@debug_option
def command(arguments: tuple[str, ...]) -> None:
    """Run COMMAND, or a shell, in the Debian root that `rocm-perf setup` made.

    Your home, /tmp, the current folder and mounted data disks are visible in it as usual, and hipcc is available. The exit code
    is the command's.
    """
    from rocm_perf_lab.debian_root import paths

    if not paths.is_ready():
        raise UnavailableError("there is no Debian root yet", "run `rocm-perf setup` once")
    shell = ["bash", "--rcfile", str(paths.script().with_name("shell.bash")), "-i"]
    line = paths.entering(Path.cwd(), list(arguments) or shell)
    os.execv(line[0], line)
