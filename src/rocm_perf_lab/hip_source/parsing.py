"""Parses the same file repeatedly, as a judge of candidates does, without reading its headers each time.

Clang keeps the state after a file's leading includes (its preamble) with a translation unit, for the next parse of the same
unit. So a unit that is no longer in use is kept for the next text of its file. Preambles are kept in memory, so that none is
left on disk however the process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, ClangUnit, Cursor

# From libclang's C interface (clang-c/Index.h): CXTranslationUnit_Flags.
DETAILED_RECORD = 0x01  # keeps the locations of macros
_PRECOMPILED_PREAMBLE = 0x04
_PREAMBLE_ON_FIRST_PARSE = 0x100
_STORE_PREAMBLES_IN_MEMORY = 1 << 2  # from CXIndexOptions

_Key = tuple[str, ...]  # file, names of the replaced texts, flags
_seen: set[_Key] = set()
_idle: dict[_Key, ClangUnit] = {}
atexit.register(_idle.clear)


class _IndexOptions(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint),
        ("priorities", ctypes.c_ubyte * 2),
        ("flags", ctypes.c_ushort),
        ("preamble_path", ctypes.c_char_p),
        ("emission_path", ctypes.c_char_p),
    )


def parse(bindings: Bindings, path: Path, flags: Sequence[str], texts: Mapping[str, str], user: object) -> ClangUnit:
    """Clang's translation unit of `path`, with these texts in place of the files' contents. user: the object that uses the
    unit; once it is gone, the unit is reused.

    Errors: bindings.TranslationUnitLoadError.
    """
    key, files, index = (str(path), *texts, *flags), list(texts.items()), _index(bindings)
    unit = _idle.pop(key, None)
    if unit is not None:
        unit.reparse(files)
    else:
        options = DETAILED_RECORD
        if index is not None and key in _seen:  # the first text of a file is often the only one
            options |= _PRECOMPILED_PREAMBLE | _PREAMBLE_ON_FIRST_PARSE
        _seen.add(key)
        unit = (index or bindings.Index.create()).parse(str(path), list(flags), unsaved_files=files, options=options)
        if not options & _PRECOMPILED_PREAMBLE:
            return unit
    if any(diagnostic.severity >= diagnostic.Error for diagnostic in unit.diagnostics):
        return unit  # reusing it would report errors in the next text as well
    weakref.finalize(user, _idle.__setitem__, key, unit).atexit = False
    return unit


@functools.cache
def _index(bindings: Bindings) -> Cursor | None:
    """An index that keeps preambles in memory; None if libclang (before 17) does not support this."""
    try:
        create = bindings.conf.lib.clang_createIndexWithOptions
    except AttributeError:
        return None
    create.argtypes, create.restype = [ctypes.POINTER(_IndexOptions)], bindings.c_object_p
    pointer = create(ctypes.byref(_IndexOptions(ctypes.sizeof(_IndexOptions), (0, 0), _STORE_PREAMBLES_IN_MEMORY)))
    never_disposed = type("Index", (bindings.Index,), {"__del__": lambda self: None})  # at exit, its module is already gone
    return never_disposed(pointer) if pointer else None
