"""What a caged command sees in addition to the system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class View:
    """What is visible in the cage.

    readable, writable: files and folders; writes persist only in the writable ones. replaced: (path inside, file shown there
    instead), read-only. gpu: whether the GPU's device files are present. traces: a writable folder in which the tracer's spool
    files are converted to databases when the command has ended. keep_env: names of variables to keep in addition to the usual
    ones. trusted: no cage at all, at the user's request.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    replaced: tuple[tuple[Path, Path], ...] = ()
    gpu: bool = False
    traces: Path | None = None
    keep_env: tuple[str, ...] = ()
    trusted: bool = False

    def showing(
        self,
        readable: tuple[Path, ...] = (),
        writable: tuple[Path, ...] = (),
        replaced: tuple[tuple[Path, Path], ...] = (),
    ) -> View:
        """This view extended by these files and folders."""
        return replace(
            self,
            readable=self.readable + readable,
            writable=self.writable + writable,
            replaced=self.replaced + replaced,
        )
