"""How subcommands take a program and its arguments: everything from the first word that is no option belongs to it."""

from __future__ import annotations

import click

CONTEXT_SETTINGS = {"allow_interspersed_args": False}

program_argument = click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...")
device_options_option = click.option(
    "--device-option",
    "device_options",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Of the software device: kernel-limit=N (instructions a wave may execute) or race-check[=SEED]. Repeatable.",
)
device_option = click.option(
    "--device",
    type=click.Choice(("auto", "hardware", "gfx942")),
    default="auto",
    show_default=True,
    help="hardware: a GPU of this machine; gfx942: the software device; auto: a GPU if there is one.",
)
