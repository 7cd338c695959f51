"""Settings that the gate uses whenever it runs candidate code on the software device."""

from __future__ import annotations

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.isolate import Capture


def is_modelled(capture: Capture) -> bool:
    """Whether the capture was made on the software device, which then also replays it."""
    return bool(capture.dispatch["origin"]["timing"] == "modelled")


def memory_check(capture: Capture) -> tuple[str, ...]:
    """Device options that confine a kernel to its program's memory; empty for a GPU, which has no such check."""
    return (devices.MEMORY_CHECK,) if is_modelled(capture) else ()
