"""The part of `torch.cuda` that Triton and benchmarks use, for the software device."""

from __future__ import annotations

from rocm_perf_triton.clock import CLOCK


class Event:
    """A point in modelled time: the total time of the kernels launched so far."""

    def __init__(self, enable_timing: bool = False, **_: object):
        self._milliseconds: float | None = None

    def record(self, stream: object = None) -> None:
        self._milliseconds = CLOCK.milliseconds

    def synchronize(self) -> None:
        pass

    def wait(self, stream: object = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        if self._milliseconds is None or end._milliseconds is None:
            raise RuntimeError("both events must be recorded before the time between them can be known")
        return end._milliseconds - self._milliseconds


def synchronize(_device: object = None) -> None:
    """Does nothing, since a call that launches a kernel returns only once the kernel has ended."""


def current_device() -> int:
    return 0


def set_device(_device: object) -> None:
    pass


def device_count() -> int:
    return 1


def is_available() -> bool:
    return True
