"""The device on which recorded launches are repeated."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import UnavailableError

_TARGET = "gfx942"


def software_device(name: str, scratch: Path) -> Device:
    """The software device with this name. Raises UnavailableError for any other device."""
    device = devices.select(name, scratch)
    if device.is_hardware or device.target != _TARGET:
        raise UnavailableError(f"Triton launches are repeated only on the software {_TARGET}", f"use `--device {_TARGET}`")
    return device
