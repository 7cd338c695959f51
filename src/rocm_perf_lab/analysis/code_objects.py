"""Finds the code of a trace's kernels: next to a thread trace, in the file it was loaded from, or in the program's own file.

A database records where a code object was loaded from: a section of a file, or a block of memory of a given size. In the latter
case, the program's file is searched for a code object of that size. A code object that does not match what the trace records
about the kernel is skipped, and so is a file that changed after the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from rocm_perf_lab.analysis.counters import SymbolCounters
from rocm_perf_lab.analysis.packed_math import Packing, counts_what_can_be_packed, from_code, from_executed
from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.code_object import CodeObject, KernelMetadata, code_objects_in, parse
from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.line_table import NO_LINES, LineTable, line_table
from rocm_perf_lab.errors import RocmPerfError
from rocm_perf_lab.rocpd.trace import Kernel, Trace

_MAX_BYTES = 64 << 20  # per file: larger files are libraries of many kernels, whose code objects are compressed
_URI = re.compile(r"(file|memory)://(.*?)#offset=(0x[0-9a-fA-F]+|\d+)&size=(0x[0-9a-fA-F]+|\d+)$")
_GRANULE = 8
_NOT_THERE = (RocmPerfError, OSError, ValueError)  # ValueError: for an impossible file name, such as one that contains a NUL


class KernelCode(NamedTuple):
    """A kernel's metadata, and the code object that contains the kernel."""

    metadata: KernelMetadata
    code_object: CodeObject


@dataclass
class CodeObjects:
    """traces: the folder of a thread trace, where rocprofv3 leaves the code objects it found; None without a thread trace."""

    trace: Trace
    traces: Path | None = None
    _parsed: dict[object, CodeObject | None] = field(default_factory=dict)
    _images: list[bytes] | None = None
    _lines: dict[int, LineTable] = field(default_factory=dict)  # keyed by the image's id(); _parsed keeps the images alive

    def of(self, kernel: Kernel) -> KernelCode | None:
        """The kernel's metadata and its code object; None if they cannot be found."""
        for code_object in filter(None, self._candidates(kernel)):
            metadata = code_object.kernels.get(kernel.symbol)
            if metadata is not None and _fits(metadata, kernel):
                return KernelCode(metadata, code_object)
        return None

    def lines(self, kernel: Kernel) -> LineTable:
        """The line table of the kernel's code object; an empty table if there is none."""
        kernel_code = self.of(kernel)
        if kernel_code is None:
            return NO_LINES
        image = kernel_code.code_object.image
        if id(image) not in self._lines:
            self._lines[id(image)] = line_table(image)
        return self._lines[id(image)]

    def metadata(self, kernel: Kernel) -> KernelMetadata | None:
        kernel_code = self.of(kernel)
        return kernel_code.metadata if kernel_code is not None else None

    def _candidates(self, kernel: Kernel) -> Iterator[CodeObject | None]:
        for path in sorted(self.traces.rglob("*code_object_id_*.out")) if self.traces is not None else ():
            yield self._parse(path, partial(_read_file, path))
        uri_match = _URI.fullmatch(kernel.uri or "")
        if uri_match is None:
            return
        kind, name = uri_match[1], uri_match[2]
        offset, size = (int(text, 16 if text.startswith("0x") else 10) for text in (uri_match[3], uri_match[4]))
        if kind == "file":
            yield self._parse(kernel.uri, lambda: self._unchanged(Path(unquote(name)))[offset : offset + size])
            return
        for number, image in enumerate(self._of_program()):
            if len(image) == size:
                yield self._parse(number, partial(bytes, image))

    def _parse(self, key: object, image: Callable[[], bytes]) -> CodeObject | None:
        if key not in self._parsed:
            try:
                self._parsed[key] = parse(image())
            except _NOT_THERE:
                self._parsed[key] = None
        return self._parsed[key]

    def _of_program(self) -> list[bytes]:
        if self._images is None:
            program = Path(self.trace.process.command.split(" ")[0])
            try:
                self._unchanged(program)
                self._images = [image for _, image in code_objects_in(program)]
            except _NOT_THERE:
                self._images = []
        return self._images

    def _unchanged(self, path: Path) -> bytes:
        """The file's bytes. Raises OSError if the file is too large, or newer than the trace."""
        status = path.stat()
        if status.st_size > _MAX_BYTES or status.st_mtime > self.trace.path.stat().st_mtime:
            raise OSError(f"{path} is not the file that ran, or is too large")
        return _read_file(path)


def _read_file(path: Path) -> bytes:
    if not path.is_file():
        raise OSError(f"{path} is not a file")
    return path.read_bytes()


def _fits(metadata: KernelMetadata, kernel: Kernel) -> bool:
    """Whether the LDS and scratch sizes match and the loader allocated at least as many registers as the compiler counted."""
    needed = -(-metadata.vgprs // _GRANULE) * _GRANULE
    allocated = -(-(kernel.arch_vgprs + kernel.accum_vgprs) // _GRANULE) * _GRANULE
    return needed <= allocated and metadata.lds_bytes == kernel.lds_bytes and metadata.scratch_bytes == kernel.scratch_bytes


_MAX_CODE_BYTES = 1 << 20  # longer kernels are not disassembled


def packing_of(
    symbol: Symbol, counters: SymbolCounters, traced: ThreadTraceFindings | None, code: CodeObjects
) -> Packing | None:
    """Which of the kernel's instructions are packed, according to the thread trace or, without one, to the code.

    None if neither is available, or if no counter counts instructions that can be packed.
    """
    if not counts_what_can_be_packed(counters):
        return None
    if traced is not None and traced.trace.code is not None:
        rows = traced.trace.code
        return from_executed(zip(rows.text, rows.hits.tolist(), strict=True))
    kernel_code = code.of(symbol.kernel)
    if kernel_code is None or not 0 < len(kernel_code.metadata.code) <= _MAX_CODE_BYTES:
        return None
    try:
        return from_code(instructions(kernel_code.metadata.code, kernel_code.code_object.target))
    except RocmPerfError:  # comgr is missing or does not know the target
        return None
