"""The console that commands print reports to."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 120  # for a file or a pipe, whose width is not known


def stdout_console() -> Console:
    """Standard output, as wide as the terminal or, for a file or a pipe, as COLUMNS specifies (else _PLAIN_WIDTH)."""
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdigit() and int(columns) > 0 else _PLAIN_WIDTH
    return Console(width=None if sys.stdout.isatty() else width)
