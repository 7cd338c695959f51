"""Precompiles the includes at the head of a HIP source, which take two thirds of the time needed to compile a small source.

Candidates change a kernel's body, so all of them begin with the same includes. Clang reads a precompiled header before the
file's own text, from which the includes are removed; the resulting code is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.hip_source.flags import architectures
from rocm_perf_lab.hip_source.leading_includes import can_be_precompiled, leading_includes

_WORTHWHILE = re.compile(rb'<hip/|<rocprim/|<hipcub/|<thrust/|<rocwmma/|"')
_PASSES = {"device": "--offload-device-only", "host": "--offload-host-only"}


@dataclass(frozen=True)
class PrecompiledPreamble:
    """options: the options with which Clang reads precompiled includes. folder: the folder that holds them. text: the source
    without those includes.
    """

    options: tuple[str, ...]
    folder: Path
    text: bytes


class PrecompiledPreambles:
    """The precompiled includes of one builder; they are deleted along with it. view: what the cage shows to the compiler."""

    def __init__(self, limits: CageLimits, view: View):
        self._limits, self._view = limits, view
        self._scratch = tempfile.TemporaryDirectory(prefix="rocm-perf-includes-")
        self._known: dict[bytes, Path | None] = {}
        self._making = threading.Lock()

    def of(
        self, path: Path, text: bytes, command: Sequence[str], folder: Path, passes: Sequence[str] = tuple(_PASSES)
    ) -> PrecompiledPreamble | None:
        """The precompiled includes for a source with this path and text, which the command compiles in this folder. command:
        without its files and its output.

        None without a cage, or if precompiling fails, saves no time or might change the result. passes: "device", "host" or
        both.
        """
        if self._view.trusted:  # without a cage, each build has its own options
            return None
        head = leading_includes(text)
        usual = path.is_absolute() and can_be_precompiled(command)
        if not usual or not any(map(_WORTHWHILE.match, head.names)) or len(architectures(command)) != 1:
            return None
        includes = [_name_from_elsewhere(include, path.parent) for include in head.names]
        seen = self._view.showing(readable=(path.parent, path.resolve().parent))
        headers = [(name, self._precompiled_header(name, includes, command, folder, seen)) for name in passes]
        options = tuple(word for name, header in headers if header for word in (f"-Xarch_{name}", f"-include{header}"))
        if not all(header for _, header in headers):
            return None
        return PrecompiledPreamble(options, Path(self._scratch.name), head.remainder)

    def _precompiled_header(
        self, name: str, includes: Sequence[bytes], command: Sequence[str], folder: Path, seen: View
    ) -> Path | None:
        """The header next to which Clang finds its precompiled version; None if that version cannot be made."""
        argv = [name, str(folder), *command]
        key = hashlib.sha256(b"\0".join([*map(os.fsencode, argv), *includes])).digest()
        with self._making:
            if key not in self._known:
                self._known[key] = self._precompile(name, includes, command, folder, seen)
            return self._known[key]

    def _precompile(
        self, name: str, includes: Sequence[bytes], command: Sequence[str], folder: Path, seen: View
    ) -> Path | None:
        header_folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
        header, source = header_folder / f"{name}.h", header_folder / f"{name}.hip"
        for file in (header, source):
            file.write_bytes(b"".join(b"#include %s\n" % include for include in includes))
        emit = [word for option in ("-emit-pch", "-o", f"{header}.pch") for word in ("-Xclang", option)]
        argv = [*command, _PASSES[name], "-fsyntax-only", *emit, str(source)]
        ended = cage.run(argv, folder, seen.showing(writable=(header_folder,)), os.environ, self._limits)
        return header if ended.succeeded and Path(f"{header}.pch").is_file() else None


def _name_from_elsewhere(include: bytes, folder: Path) -> bytes:
    """The name, including its delimiters, with which a file in another folder can include the same file. The name is absolute
    if the source's path is, so __FILE__ stays the same in the included file.
    """
    beside = folder / os.fsdecode(include[1:-1])
    return b'"%s"' % os.fsencode(beside) if include.startswith(b'"') and beside.is_file() else include
