"""The device on which recorded launches are repeated."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import triton
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import UnavailableError


def software_device(name: str, scratch: Path) -> Device:
    """Raises UnavailableError for any other."""
    device = devices.select(name, scratch)
    if device.is_hardware or device.target != triton.TARGET:
        raise UnavailableError(
            f"launches of Triton are only repeated on the software {triton.TARGET}", f"use `--device {triton.TARGET}`"
        )
    return device
