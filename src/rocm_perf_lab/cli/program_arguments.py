"""How subcommands take a program and its arguments: everything from the first word that is no option belongs to it."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from rocm_perf_lab.cli.progress import note

CONTEXT_SETTINGS = {"allow_interspersed_args": False}


def note_late_options(context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """An option of the command among the program's words may be one that was meant to stand before it."""
    own = {name for option in context.command.params if isinstance(option, click.Option) for name in option.opts}
    if late := next((word for word in words if word.startswith("--") and word.split("=")[0] in own), None):
        note(f"{late} stands after the program, so that it is the program's; options of rocm-perf stand before it")
    return words


def complete_file(_context: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """The shell itself completes names of files best."""
    return [CompletionItem(beginning, type="file")]


program_argument = click.argument(
    "program", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...", callback=note_late_options,
    shell_complete=complete_file,
)  # fmt: skip
device_options_option = click.option(
    "--device-option",
    "device_options",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Of the software device: deadlock-after=SECONDS, initial-values=SEED, kernel-limit=N (instructions a wave may run), "
    "lds-check, race-check[=SEED], timed-cu=N, write-check. Repeatable.",
)
device_option = click.option(
    "--device",
    type=click.Choice(("auto", "hardware", "gfx942")),
    default="auto",
    show_default=True,
    help="hardware: a GPU of this machine; gfx942: the software device; auto: a GPU if there is one.",
)
