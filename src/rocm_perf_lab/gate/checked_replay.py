"""What the gate asks of the software device whenever it runs code that it judges."""

from __future__ import annotations

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.isolate import Capture


def is_modelled(capture: Capture) -> bool:
    """Whether the software device captured it, and so replays it."""
    return bool(capture.dispatch["origin"]["timing"] == "modelled")


def write_check(capture: Capture) -> tuple[str, ...]:
    """Device options that hold a kernel to its program's memory; none for a GPU, which has no such check."""
    return (devices.WRITE_CHECK,) if is_modelled(capture) else ()
