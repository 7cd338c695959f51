"""Finds a way to build cages on this machine: bubblewrap, or our own code that creates namespaces."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.cage.homes import is_open

_OPTIONS = (
    "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "cage",
    "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL",
)  # fmt: skip
_PROBE_SECONDS = 20


@dataclass(frozen=True)
class Mechanism:
    """A way to build cages.

    kind: "bubblewrap" or "namespaces". program, options: for running bubblewrap. overlays: whether writes to a folder can go to
    a layer in memory.
    """

    kind: str
    overlays: bool
    program: str = ""
    options: tuple[str, ...] = ()


@functools.cache
def best_mechanism() -> Mechanism | None:
    """The best mechanism that works on this machine, determined only once; None if none works."""
    if platform.machine() != "x86_64":
        return None  # the system call filter supports no other architecture
    return next((mechanism for mechanism in _possible_mechanisms() if mechanism_works(mechanism)), None)


def kind() -> str | None:
    """The kind of mechanism found: "bubblewrap", "namespaces", or None if candidates can only run without a cage."""
    mechanism = best_mechanism()
    return mechanism.kind if mechanism else None


def mechanisms_of_kind(kind: str) -> list[Mechanism]:
    """All variants of one of the two kinds, best first."""
    return [mechanism for mechanism in _possible_mechanisms() if mechanism.kind == kind]


def _possible_mechanisms() -> Iterator[Mechanism]:
    if program := shutil.which("bwrap"):
        for overlays in (True, False):
            for options in (("--unshare-user", *_OPTIONS), _OPTIONS):
                yield Mechanism("bubblewrap", overlays, os.path.abspath(program), options)
    for overlays in (True, False):
        yield Mechanism("namespaces", overlays)


def mechanism_for_folder(mechanism: Mechanism, folder: Path) -> Mechanism:
    """The mechanism, without a layer over `folder` if its file system does not support one (some that ignore case do not)."""
    layered = mechanism.overlays and is_open(Path(os.path.realpath(folder)))
    if layered and not _takes_layer(mechanism, os.stat(folder).st_dev, str(folder)):
        return replace(mechanism, overlays=False)
    return mechanism


_layers: dict[tuple[Mechanism, int], bool] = {}


def _takes_layer(mechanism: Mechanism, device: int, folder: str) -> bool:
    """Whether the file system supports a layer; tested once per file system."""
    if (mechanism, device) not in _layers:
        from rocm_perf_lab.cage.start import command_line

        _layers[mechanism, device] = _succeeds(command_line(mechanism, ["true"], Path(folder)))
    return _layers[mechanism, device]


def mechanism_works(mechanism: Mechanism) -> bool:
    from rocm_perf_lab.cage.start import command_line

    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        return _succeeds(command_line(mechanism, ["true"], Path(folder)))


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
