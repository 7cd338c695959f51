"""Determines which versions of Triton are supported, and how their private interfaces differ."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

OLDEST, NEWEST_TRIED = (3, 4), (3, 9)
_MAX_FILE_NAME_LENGTH = 150  # of a file in Triton's cache, without its suffix

Words = list[Any]


def parsed(version: str) -> tuple[int, int]:
    """For example, (3, 9) for "3.9.0" and "3.9.0+git12345"."""
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
    """A note if this version is newer than every version that was tried; otherwise None."""
    if parsed(version) <= NEWEST_TRIED:
        return None
    newest = ".".join(map(str, NEWEST_TRIED))
    return f"rocm-perf: Triton {version} is newer than the versions tried on the software device (up to {newest})"


def descriptor_words(version: str) -> Callable[[Any], Words]:
    """The kernel arguments that represent a tensor descriptor on targets without descriptors in hardware."""
    if parsed(version) >= (3, 7):
        return lambda it: _words(it, it.padding == "nan", it.round_f32_to_tf32)
    if parsed(version) >= (3, 5):
        return lambda it: _words(it, it.padding == "nan")
    return _words


def compiled_files(kernel: Any, version: str) -> dict[str, str]:
    """For each suffix, the path of a compiled kernel's file in Triton's cache: ".hsaco", ".ttgir" and so on."""
    if parsed(version) >= (3, 5):
        group = kernel.metadata_group
    else:
        from triton.runtime.cache import get_cache_manager

        group = get_cache_manager(kernel.hash).get_group(f"{kernel.src.name[:_MAX_FILE_NAME_LENGTH]}.json")
    return {os.path.splitext(name)[1]: str(path) for name, path in group.items()}


def _words(descriptor: Any, *flags: bool) -> Words:
    extent = [*descriptor.shape, *descriptor.strides]
    return [descriptor.base, *extent, *flags, *extent]
