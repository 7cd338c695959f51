"""Clang's precompiled form of the includes at the head of a file, which can be loaded to parse other texts.

Once it is made, it is kept in an unlinked file, so that nothing is left on disk, however the process ends.
"""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, ClangUnit

# From libclang's C interface (clang-c/Index.h): CXTranslationUnit_Flags.
DETAILED_RECORD = 0x01  # keeps the locations of macros
_INCOMPLETE = 0x02  # more text follows

Stamp = tuple[int, int]  # size, time


class PrecompiledIncludes:
    """stand_in: the name of an imaginary file that consists of these includes alone. headers: every file that was read. stamps:
    of the headers when they were read; None for the current ones. proven: whether some text has been parsed with them without
    errors. misleads: whether some text had errors only when parsed with them.
    """

    def __init__(self, stand_in: str, headers: tuple[str, ...], descriptor: int, stamps: Sequence[Stamp | None] | None = None):
        self.stand_in, self.headers, self._descriptor = stand_in, headers, descriptor
        self.stamps = [*map(_stamp, headers)] if stamps is None else [*stamps]
        self.proven = self.misleads = False

    def __del__(self) -> None:
        os.close(self._descriptor)

    @property
    def path(self) -> str:
        """The path under which Clang can open the precompiled form, as long as this object exists."""
        return f"/proc/self/fd/{self._descriptor}"

    @property
    def content(self) -> bytes:
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    @property
    def is_current(self) -> bool:
        """Whether no header has changed."""
        return [*map(_stamp, self.headers)] == self.stamps

    @functools.cached_property
    def _path_components(self) -> set[str]:
        return {part for header in self.headers for part in header.split("/")}

    def depends_on(self, folder: str) -> bool:
        """Whether an include lookup in this folder may find one of the headers."""
        try:
            return not self._path_components.isdisjoint(os.listdir(folder))
        except OSError:
            return False


def of_content(stand_in: str, headers: tuple[str, ...], stamps: Sequence[Stamp | None], content: bytes) -> PrecompiledIncludes:
    """The precompiled includes of another process on this machine, where the headers have the same names. Raises OSError."""
    descriptor = os.memfd_create("includes.pch")
    includes = PrecompiledIncludes(stand_in, headers, descriptor, stamps)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    return includes


def precompile(bindings: Bindings, stand_in: str, names: Sequence[bytes], flags: Sequence[str]) -> PrecompiledIncludes | None:
    """Precompile headers. names: including their quotes or angle brackets. Returns None if the headers have errors, may differ
    when included again, or cannot be stored.
    """
    text = b"".join(b"#include %s\n" % name for name in names).decode(errors="replace")
    options = DETAILED_RECORD | _INCOMPLETE
    unit = bindings.Index.create().parse(stand_in, [*flags], unsaved_files=[(stand_in, text)], options=options)
    if has_errors(unit) or not all(_is_guarded(bindings, unit, header) for header in _user_headers(bindings, unit)):
        return None
    headers = tuple(dict.fromkeys(inclusion.include.name for inclusion in unit.get_includes()))
    try:
        with tempfile.TemporaryDirectory(prefix="rocm-perf-includes-") as folder:
            path = os.path.join(folder, "includes.pch")
            unit.save(path)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (bindings.TranslationUnitSaveError, OSError):
        return None
    return PrecompiledIncludes(stand_in, headers, descriptor)


def has_errors(unit: ClangUnit) -> bool:
    return any(diagnostic.severity >= diagnostic.Error for diagnostic in unit.diagnostics)


def _user_headers(bindings: Bindings, unit: ClangUnit) -> Iterator[object]:
    """The files that the unit's main file includes directly and that are not system headers."""
    for inclusion in unit.get_includes():
        start = bindings.SourceLocation.from_offset(unit, inclusion.include, 0)
        if inclusion.depth == 1 and not start.is_in_system_header:
            yield inclusion.include


def _is_guarded(bindings: Bindings, unit: ClangUnit, header: object) -> bool:
    """Whether Clang skips the whole header when it is included a second time."""
    guarded = bindings.conf.lib.clang_isFileMultipleIncludeGuarded
    guarded.argtypes, guarded.restype = [bindings.TranslationUnit, bindings.File], ctypes.c_uint
    return bool(guarded(unit, header))


def _stamp(file: str) -> Stamp | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
