"""What a caged command sees beyond the system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class View:
    """readable, writable: files and folders; what is written stays in the writable ones alone. replaced: (path inside, file
    shown there instead), read-only. gpu: whether the GPU's device files are there. traces: a writable folder in which the
    tracer's notes become databases once the command has ended. keep_env: names of variables beyond the usual ones. trusted:
    no cage at all, at the user's word.
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
        """This view and more."""
        return replace(
            self,
            readable=self.readable + readable,
            writable=self.writable + writable,
            replaced=self.replaced + replaced,
        )
