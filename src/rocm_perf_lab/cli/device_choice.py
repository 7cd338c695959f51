"""The values of --device: a GPU, a software device, or several software devices."""

from __future__ import annotations

from typing import Any

import click

CHOICES = ("auto", "hardware", "gfx942", "mi300a", "gfx90a", "gfx1030", "gfx950")


class DeviceChoice(click.Choice):  # type: ignore[type-arg]  # click before 8.2 is not generic
    """One of the choices. With `several`, also a software device followed by a device count, such as "gfx942:4"."""

    def __init__(self, several: bool):
        super().__init__(CHOICES)
        self._several = several

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, colon, _ = value.partition(":")
        super().convert(name, param, ctx)
        if colon:
            from rocm_perf_lab.collect.device import software_devices

            software_devices(value, several=self._several)
        return str(value)

    def to_info_dict(self) -> Any:  # click's dictionaries differ between types
        """click's description of the type, with all accepted values."""
        return {**super().to_info_dict(), "choices": self._accepted()}

    def _accepted(self) -> list[str]:
        from rocm_perf_lab.collect.device import SOFTWARE_PRODUCTS, max_devices

        if not self._several:
            return list(CHOICES)
        return [*CHOICES, *(f"{name}:{n}" for name in SOFTWARE_PRODUCTS for n in range(2, max_devices(name) + 1))]
