"""Which versions of Triton are supported, and in what their private interfaces differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OLDEST, NEWEST_TRIED = (3, 4), (3, 9)

Words = list[Any]


def parsed(version: str) -> tuple[int, int]:
    """(3, 9) for "3.9.0" and "3.9.0+git12345"."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def refusal(version: str) -> str | None:
    """Why this version of Triton cannot be used, with a remedy; None if it can."""
    if OLDEST <= parsed(version) < (OLDEST[0] + 1, 0):
        return None
    oldest, newest = (".".join(map(str, bound)) for bound in (OLDEST, NEWEST_TRIED))
    return (
        f"Triton {version} cannot run on rocm-perf's software device, which supports {oldest} to {newest}: "
        f"run `pip install triton=={newest}.*`"
    )


def untried(version: str) -> str | None:
    """A note about a version that is newer than those that were tried; None for others."""
    if parsed(version) <= NEWEST_TRIED:
        return None
    newest = ".".join(map(str, NEWEST_TRIED))
    return f"rocm-perf: Triton {version} is newer than what was tried on the software device (up to {newest})"


def descriptor_words(version: str) -> Callable[[Any], Words]:
    """The kernel arguments that stand for a tensor descriptor on targets without descriptors in hardware."""
    if parsed(version) >= (3, 7):
        return lambda it: _words(it, it.padding == "nan", it.round_f32_to_tf32)
    if parsed(version) >= (3, 5):
        return lambda it: _words(it, it.padding == "nan")
    return _words


def _words(descriptor: Any, *flags: bool) -> Words:
    extent = [*descriptor.shape, *descriptor.strides]
    return [descriptor.base, *extent, *flags, *extent]
