"""`--debug`: prints an error's traceback before its one-line message."""

from __future__ import annotations

import click

enabled = False


def _enable(_ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    global enabled
    enabled = enabled or value


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_enable, help="Show the traceback of an error."
)
