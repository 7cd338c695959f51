"""`rocm-perf skill`: the skill for coding agents."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.errors import UsageError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--install", is_flag=True, help="Copy the skill to where the agents of this user look for skills.")
@click.option(
    "--to", "folder", type=click.Path(path_type=Path), metavar="DIR",
    help="Folder to install the skill in instead, such as a project's .claude/skills; the skill becomes DIR/rocm-perf.",
)  # fmt: skip
@debug_option
def command(install: bool, folder: Path | None) -> None:
    """Print the folder of the skill that teaches a coding agent these commands, or install it.

    An earlier version is replaced.
    """
    from rocm_perf_lab import agent_skill

    if not install and folder is None:
        click.echo(agent_skill.skill_folder())
        return
    if not install:
        raise UsageError("--to says where to install", "add --install")
    for destination in [folder] if folder is not None else agent_skill.folders_of_agents():
        click.echo(agent_skill.install(destination))
