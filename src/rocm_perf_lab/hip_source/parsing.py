"""Parses many texts of the same file, as a judge of candidates does, without reading its headers each time.

Clang stores what it made of the includes at the head of a file and loads it for the next text of that file. It is stored in a
file without a name, so that none is left on disk however the process ends.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.leading_includes import can_be_precompiled, leading_includes

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, ClangUnit

# From libclang's C interface (clang-c/Index.h): CXTranslationUnit_Flags.
DETAILED_RECORD = 0x01  # keeps the locations of macros
_INCOMPLETE = 0x02  # more text follows
_MOST_KEPT = 8  # of 10 to 30 MB each

_Key = tuple[str, tuple[bytes, ...], tuple[str, ...]]  # stand-in, names of the headers, flags


@dataclass(frozen=True)
class Parsed:
    """unit: Clang's. precompiled: the includes that it loaded, None if it read all headers."""

    unit: ClangUnit
    precompiled: PrecompiledIncludes | None = None


@dataclass
class PrecompiledIncludes:
    """stand_in: the name of the file that consists of these includes alone, which does not exist. descriptor: of the open file
    with what Clang made of it. headers: every header that was read. stamps: their sizes and times. proven: whether a text with
    them was parsed without errors.
    """

    stand_in: str
    descriptor: int
    headers: tuple[str, ...]
    stamps: tuple[tuple[int, int] | None, ...] = field(repr=False)
    proven: bool = False

    @property
    def is_current(self) -> bool:
        return _stamps(self.headers) == self.stamps

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self.descriptor}"

    def __del__(self) -> None:
        os.close(self.descriptor)


_at_once = threading.Event()
_building = threading.Lock()
_seen: set[_Key] = set()
_kept: OrderedDict[_Key, PrecompiledIncludes | None] = OrderedDict()  # None: they cannot be precompiled


def expect_many_texts() -> None:
    """From now on, precompile the includes of a file when its first text is parsed. Otherwise only its second text shows that
    it pays.
    """
    _at_once.set()


def parse(bindings: Bindings, path: Path, flags: Sequence[str], texts: Mapping[str, str]) -> Parsed:
    """Parse `path` with these texts in place of the files' contents. Errors: bindings.TranslationUnitLoadError, OSError."""
    own = texts[str(path)].encode() if str(path) in texts else path.read_bytes()
    key = _key(path, flags, own, alone=all(name == str(path) for name in texts))
    included = _precompiled(bindings, key, texts) if key else None
    if included is None or key is None:
        return Parsed(_parsed(bindings, path, flags, texts))
    unit = _parsed(bindings, path, (*flags, "-include-pch", included.path), texts)
    if not _has_errors(unit):
        included.proven = True
    elif not included.proven:  # a header may not be made to be included twice
        read = _parsed(bindings, path, flags, texts)
        if not _has_errors(read):
            _kept[key] = None
        return Parsed(read)
    return Parsed(unit, included)


def _parsed(bindings: Bindings, path: Path, flags: Sequence[str], texts: Mapping[str, str]) -> ClangUnit:
    return bindings.Index.create().parse(str(path), [*flags], unsaved_files=[*texts.items()], options=DETAILED_RECORD)


def _has_errors(unit: ClangUnit) -> bool:
    return any(diagnostic.severity >= diagnostic.Error for diagnostic in unit.diagnostics)


def _key(path: Path, flags: Sequence[str], text: bytes, alone: bool) -> _Key | None:
    """alone: whether the text of no other file is replaced. None if nothing can be precompiled."""
    names = leading_includes(text).names
    if not alone:  # the other file may be one of those in quotes
        names = names[: next((place for place, name in enumerate(names) if name.startswith(b'"')), len(names))]
    if not names or not can_be_precompiled(flags):
        return None
    return str(path.with_name(f"{path.name}.includes{path.suffix}")), names, tuple(flags)


def _precompiled(bindings: Bindings, key: _Key, texts: Mapping[str, str]) -> PrecompiledIncludes | None:
    with _building:
        known = _kept.get(key)
        if known is None or not known.is_current:
            if (known is None and key in _kept) or not (known or key in _seen or _at_once.is_set()):
                _seen.add(key)
                return None
            _kept[key] = known = _build(bindings, *key)
        _kept.move_to_end(key)
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    replaced = {os.path.realpath(name) for name in texts}
    return None if known is None or any(os.path.realpath(name) in replaced for name in known.headers) else known


def _build(bindings: Bindings, stand_in: str, names: Sequence[bytes], flags: Sequence[str]) -> PrecompiledIncludes | None:
    """None if they have errors, or may say something else when they are included again."""
    text = b"".join(b"#include %s\n" % name for name in names).decode(errors="replace")
    options = DETAILED_RECORD | _INCOMPLETE
    unit = bindings.Index.create().parse(stand_in, [*flags], unsaved_files=[(stand_in, text)], options=options)
    if _has_errors(unit) or not all(_is_guarded(bindings, unit, header) for header in _user_headers(bindings, unit)):
        return None
    headers = tuple(dict.fromkeys(one.include.name for one in unit.get_includes()))
    stamps = _stamps(headers)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-includes-") as folder:
        path = os.path.join(folder, "includes.pch")
        try:
            unit.save(path)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (bindings.TranslationUnitSaveError, OSError):
            return None
    return PrecompiledIncludes(stand_in, descriptor, headers, stamps)


def _user_headers(bindings: Bindings, unit: ClangUnit) -> Iterator[object]:
    """The files that the unit's main file includes itself and that are not the system's."""
    for one in unit.get_includes():
        start = bindings.SourceLocation.from_offset(unit, one.include, 0)
        if one.depth == 1 and not start.is_in_system_header:
            yield one.include


def _is_guarded(bindings: Bindings, unit: ClangUnit, header: object) -> bool:
    """Whether Clang reads nothing of the header when it is included again."""
    guarded = bindings.conf.lib.clang_isFileMultipleIncludeGuarded
    guarded.argtypes, guarded.restype = [bindings.TranslationUnit, bindings.File], ctypes.c_uint
    return bool(guarded(unit, header))


def _stamps(files: Sequence[str]) -> tuple[tuple[int, int] | None, ...]:
    return tuple(map(_stamp, files))


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
