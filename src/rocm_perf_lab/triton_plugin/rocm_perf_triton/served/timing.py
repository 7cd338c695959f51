"""Times of a launch in milliseconds: the modelled time with empty caches, or the times that Triton's benchmark measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocm_perf_triton import activation
from rocm_perf_triton.clock import CLOCK

Launched = Callable[[], Any]


def modelled(launch: Launched) -> list[float]:
    """A single time, since every launch that starts with empty caches takes the same time."""
    from rocm_perf_triton import software_device

    if CLOCK.launches:
        software_device.invalidate_caches()
    before = CLOCK.milliseconds
    launch()
    return [CLOCK.milliseconds - before]


def measure(launch: Launched) -> list[float]:
    import triton.testing

    times: list[float] = triton.testing.do_bench(launch, return_mode="all")
    return times


def is_modelled() -> bool:
    return activation.is_active()
