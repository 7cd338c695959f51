"""What goes to stderr while a command works: one line a step, dimmed on a terminal."""

from __future__ import annotations

import sys

import click


def note(text: str) -> None:
    line = f"rocm-perf: {text}"
    click.echo(click.style(line, dim=True) if sys.stderr.isatty() else line, err=True)
