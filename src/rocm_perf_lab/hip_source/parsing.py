"""Parses many versions of the same file, such as candidates of the optimizer, and many files with the same includes, without
rereading their headers each time.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.hip_source.leading_includes import can_be_precompiled, leading_includes
from rocm_perf_lab.hip_source.precompiled_includes import (
    DETAILED_RECORD,
    PrecompiledIncludes,
    has_errors,
    of_content,
    precompile,
)

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, ClangUnit

_MAX_PRECOMPILED = 16  # precompiled includes, of up to 30 MB each


@dataclass(frozen=True)
class ParsedUnit:
    """unit: Clang's translation unit. precompiled: the includes that it loaded; None if it read all headers."""

    unit: ClangUnit
    precompiled: PrecompiledIncludes | None = None


@dataclass(frozen=True)
class _Key:
    """names: the headers' names. folder: the file's folder; None if the header search does not depend on it."""

    names: tuple[bytes, ...]
    flags: tuple[str, ...]
    folder: str | None = None


_changing = threading.Lock()
_impossible: set[_Key] = set()
_includes_by_key: OrderedDict[_Key, PrecompiledIncludes] = OrderedDict()


def parse(bindings: Bindings, path: Path, flags: Sequence[str], texts: Mapping[str, str]) -> ParsedUnit:
    """Parse `path` with these texts in place of the files' contents. Raises bindings.TranslationUnitLoadError, OSError."""
    text = texts[str(path)].encode() if str(path) in texts else path.read_bytes()
    other_paths = [name for name in texts if name != str(path)]
    # Another file may be one of the quoted headers, and Clang loads relative names as absolute ones.
    names = _precompilable(text, flags, quoted=not other_paths and path.is_absolute())
    included = _precompiled(bindings, path, names, flags) if names else None
    if included is None or included.misleads or (other_paths and _is_replaced(included.headers, other_paths)):
        return ParsedUnit(_parsed(bindings, path, flags, texts))
    unit = _parsed(bindings, path, (*flags, "-include-pch", included.path), texts)
    if not has_errors(unit):
        included.proven = True
    elif not included.proven:  # some headers are not meant to be included twice
        unit = _parsed(bindings, path, flags, texts)
        included.misleads = not has_errors(unit)
        return ParsedUnit(unit)
    return ParsedUnit(unit, included)


def _parsed(bindings: Bindings, path: Path, flags: Sequence[str], texts: Mapping[str, str]) -> ClangUnit:
    return bindings.Index.create().parse(str(path), [*flags], unsaved_files=[*texts.items()], options=DETAILED_RECORD)


def _precompilable(text: bytes, flags: Sequence[str], quoted: bool) -> tuple[bytes, ...]:
    """The names of the headers to precompile. quoted: whether headers in quotes count too."""
    if not can_be_precompiled(flags):
        return ()
    names = leading_includes(text).names
    first_quoted = next((index for index, name in enumerate(names) if name.startswith(b'"')), len(names))
    return names if quoted else names[:first_quoted]


def _precompiled(bindings: Bindings, path: Path, names: tuple[bytes, ...], flags: Sequence[str]) -> PrecompiledIncludes | None:
    folders, _ = _split_folders(flags)
    shared, own = _keys(path, names, flags)
    with _changing:
        if known := _find_precompiled(shared, own, folders):
            return known[1]
        if own in _impossible:
            return None
        stand_in = os.path.abspath(path.with_name(f"{path.name}.includes{path.suffix}"))
        includes = precompile(bindings, stand_in, names, flags)
        if includes is None:
            _impossible.add(own)
            return None
        _keep(own if any(map(includes.depends_on, folders)) else shared, includes)
        return includes


def _keys(path: Path, names: tuple[bytes, ...], flags: Sequence[str]) -> tuple[_Key, _Key]:
    """The key under which other files find the result, if they can use it, and the key for this file alone."""
    own = _Key(names, tuple(flags), str(path.parent))
    # Files with different -I options can share the result if, as is usual, none of the -I folders contains such headers.
    quoted = any(name.startswith(b'"') for name in names)
    return own if quoted else _Key(names, tuple(_split_folders(flags)[1])), own


def _find_precompiled(shared: _Key, own: _Key, folders: Sequence[str]) -> tuple[_Key, PrecompiledIncludes] | None:
    for key in (shared, own):
        known = _current(key)
        if known and (key is own or not any(map(known.depends_on, folders))):
            return key, known
    return None


def hand_over(path: Path, flags: Sequence[str], text: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The precompiled includes that this process has for `text` as the content of `path`: a description for JSON, and their
    content. For adopt_includes() in another process that sees the same headers. Returns None if this process has none.
    """
    names = _precompilable(text, flags, quoted=path.is_absolute())
    if not names:
        return None
    with _changing:
        known = _find_precompiled(*_keys(path, names, flags), _split_folders(flags)[0])
    if known is None or known[1].misleads:
        return None
    key, includes = known
    described = {"names": [name.decode("latin-1") for name in key.names], "flags": key.flags, "folder": key.folder}
    read = {"stand_in": includes.stand_in, "headers": includes.headers, "stamps": includes.stamps}
    return described | read, includes.content


def adopt_includes(described: Mapping[str, Any], content: bytes) -> None:
    """Use what another process has handed over, as long as the headers are as that process read them. Raises OSError."""
    key = _Key(tuple(name.encode("latin-1") for name in described["names"]), tuple(described["flags"]), described["folder"])
    stamps = [None if stamp is None else (stamp[0], stamp[1]) for stamp in described["stamps"]]
    includes = of_content(described["stand_in"], tuple(described["headers"]), stamps, content)
    with _changing:
        _keep(key, includes)


def _current(key: _Key) -> PrecompiledIncludes | None:
    known = _includes_by_key.get(key)
    if known is None or not known.is_current:
        _includes_by_key.pop(key, None)
        return None
    _includes_by_key.move_to_end(key)
    return known


def _keep(key: _Key, includes: PrecompiledIncludes) -> None:
    _includes_by_key[key] = includes
    while len(_includes_by_key) > _MAX_PRECOMPILED:
        _includes_by_key.popitem(last=False)


def _split_folders(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The folders given by -I options, and the other flags."""
    folders, other_flags = [], []
    words = iter(flags)
    for word in words:
        if word == "-I":
            folders.append(next(words, ""))
        elif word.startswith("-I"):
            folders.append(word[2:])
        else:
            other_flags.append(word)
    return folders, other_flags


def _is_replaced(headers: Sequence[str], replacements: Sequence[str]) -> bool:
    replaced = {*map(os.path.realpath, replacements)}
    return any(os.path.realpath(header) in replaced for header in headers)
