"""The values of --device: a GPU, a software device, or several of them."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.errors import UsageError

_CHOICES = ("auto", "hardware", "gfx942", "mi300a", "gfx90a", "gfx1030")


class DeviceChoice(ParamType[str]):
    """One of the choices; if `several`, also a software device with a number of them, such as "gfx942:4"."""

    name = "device"

    def __init__(self, several: bool):
        self._several = several

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(_CHOICES)}]" + ("[:N]" if self._several else "")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, colon, _ = value.partition(":")
        if name not in _CHOICES:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, _CHOICES))}.", param, ctx)
        if colon:
            self._check_number(value, name, ctx)
        return str(value)

    def _check_number(self, value: str, name: str, ctx: click.Context | None) -> None:
        from rocm_perf_lab.collect.device import software_devices

        _, count = software_devices(value)
        if count > 1 and not self._several:
            command = ctx.info_name if ctx else "this"
            raise UsageError(f"--device {value}: {command} uses one device", f"write --device {name}")

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(choice) for choice in _CHOICES if choice.startswith(incomplete)]
