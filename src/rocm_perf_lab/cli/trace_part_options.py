"""Options that select a part of a trace."""

from __future__ import annotations

import re
from typing import Any

import click

from rocm_perf_lab.cli.parameter_type import ParamType

_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class Window(ParamType[tuple[int | None, int | None]]):
    """'10ms:1.5s' -> (10000000, 1500000000); either side can be omitted; a number without a unit is in milliseconds."""

    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | None, int | None]:
        if isinstance(value, tuple):
            return value
        begin, colon, end = value.partition(":")
        if not colon:
            self.fail(f"{value!r} is not START:END", param, ctx)
        start, stop = (self._ns(text, param, ctx) if text else None for text in (begin, end))
        if start is not None and stop is not None and start >= stop:
            self.fail(f"{value!r} ends before it starts", param, ctx)
        return start, stop

    def _ns(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)?", text.strip())
        if not match:
            self.fail(f"{text!r} is not a time such as 250us, 10ms or 1.5s", param, ctx)
        return round(float(match[1]) * _NS[match[2] or "ms"])


gpu_option = click.option("--gpu", type=click.IntRange(min=0), metavar="N", help="GPU to analyse, numbered from 0 as in HIP.")
window_option = click.option(
    "--time-window", "window", type=Window(), metavar="START:END",
    help="Analyse only dispatches and copies that start in this window, counted from the first one: 10ms:1.5s, 250us:, :2s. "
    "The default unit is ms.",
)  # fmt: skip
