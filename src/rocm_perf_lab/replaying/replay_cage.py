"""Replays untrusted code in a cage: what the code can see there, and the limits that apply to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.collect import progress_line
from rocm_perf_lab.isolate.capture_directory import Capture

SETTING_UP_SECONDS = 600.0
_COPIES_OF_MEMORY = 4  # captured, restored, compared, dumped


@dataclass(frozen=True)
class ReplayCage:
    """Settings of a replay in the cage. writable: existing folders for results. seconds: limit on the wall time of all runs
    together.
    """

    view: View
    writable: tuple[Path, ...]
    seconds: float

    def within(self, command: Sequence[str], capture: Capture | Path, scratch: Path, on_gpu: bool) -> list[str]:
        """The command line for running a replay in the cage.

        command: must contain only absolute paths. scratch: contains the device's own files. Raises NoCageError.
        """
        view = self.view.showing(readable=(scratch,), writable=(*self.writable, *progress_line.pages(scratch)))
        return cage.within(command, Path("/"), replace(view, gpu=on_gpu), self._limits(capture))

    def _limits(self, capture: Capture | Path) -> CageLimits:
        captured = sum(region.bytes for region in capture.regions) if isinstance(capture, Capture) else 0
        usual = CageLimits()
        return replace(
            usual,
            seconds=self.seconds,
            memory_bytes=usual.memory_bytes + _COPIES_OF_MEMORY * captured,
            file_bytes=usual.file_bytes + captured,
        )
