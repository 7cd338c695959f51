"""The interface through which the loops use a source and its kernels, whatever the language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.hip_source.source_parts import Span


class Loop(Protocol):
    @property
    def span(self) -> Span: ...


class Kernel(Protocol):
    """name: its name in the source. span: its definition."""

    @property
    def name(self) -> str: ...

    @property
    def span(self) -> Span: ...

    def all_loops(self) -> Iterable[Loop]: ...


class Source(Protocol):
    """path: the file with the kernel. text: the file's bytes. other_files: the contents of other changed files; the keys are
    the files' real paths. state: distinguishes the source from others with the same path.
    """

    @property
    def path(self) -> Path: ...

    @property
    def text(self) -> bytes: ...

    @property
    def other_files(self) -> Mapping[Path, bytes]: ...

    @property
    def state(self) -> bytes: ...

    def kernel(self, name: str) -> Any:
        """The kernel with this name, in the form used for its language. Raises SourceError."""

    def edited(self, edits: Iterable[Edit], other_edits: Iterable[tuple[Path, Edit]] = ()) -> Source: ...
