"""All memory captured for a dispatch in its program, divided into parts so that two runs of the program can be compared.

Parts are matched by identity, not by address: an allocation by its kind, its size and its rank by address among the allocations
of the same kind and size; a variable of the kernel's code object by its symbol. Pointers are equal if they point to the same
offset in the same part. A candidate's code object necessarily differs from the baseline's, so only its variables are compared;
the rest of it must match its own file. Other code objects may contain the kernel too and may therefore differ in size, so only
their writable segments are compared; a code object whose ELF headers were not loaded is compared as a whole.
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source.demangle import demangled
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.numbers import Bytes

    Words = NDArray[np.uint64]
    Mask = NDArray[np.bool_]

_CHUNK_BYTES = 1 << 24  # bytes read and compared at a time
_WRITABLE = 2  # PF_W
_ABSOLUTE, _RELATIVE = 3, 13  # R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64
_PATCHED_BYTES = 8
_ELF_HEADER, _PROGRAM_HEADER = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
_LOAD, _RELRO = 1, 0x6474E552  # PT_LOAD, PT_GNU_RELRO
_MAGIC = b"\x7fELF"
_CODE = "code"  # kind of region
_OBJECTS = ("STT_OBJECT", "STT_FUNC")
_BUILD_ID_PREFIX = "__hip_cuid_"
Key = tuple[object, ...]


@dataclass(frozen=True)
class MemoryPart:
    """A variable or an allocation. name: used in verdicts. is_pool: whether it is a pool in which a runtime keeps kernel
    arguments; between the arguments, a pool holds arbitrary bytes that vary from run to run.
    """

    name: str
    address: int
    size: int
    is_pool: bool = False


@dataclass(frozen=True)
class ProgramMemory:
    """The memory of one run of a program.

    parts: the memory that is compared. pointees: everything that a pointer may point to, namely the parts, functions, constants
    and other code objects.
    """

    capture: Capture
    parts: dict[Key, MemoryPart] = field(default_factory=dict)
    pointees: dict[Key, MemoryPart] = field(default_factory=dict)

    @classmethod
    def of(cls, capture: Capture) -> ProgramMemory:
        """The memory of a captured dispatch. Raises SourceError if the code object cannot be read."""
        parts = dict(_allocations(capture))
        pointees = dict(parts)
        for index, code in enumerate(_other_code_objects(capture)):
            pointees[_CODE, index] = code
            parts |= dict(_segments(capture, code, index))
        for symbol, part, writable in _symbols(capture):
            pointees[symbol] = part
            if writable:
                parts[symbol] = part
        return cls(capture, parts, pointees)

    def chunks(self, key: Key, after: bool) -> Iterator[tuple[int, Words]]:
        """Yields the part's contents in chunks, as (address, 64-bit words). The last word is padded with zeros."""
        part = self.parts[key]
        for start in range(0, part.size, _CHUNK_BYTES):
            content = self.capture.memory(part.address + start, min(_CHUNK_BYTES, part.size - start), after=after)
            yield part.address + start, np.frombuffer(content + bytes(-len(content) % 8), np.uint64)

    def resolve_pointers(self, words: Words, numbers: dict[Key, int]) -> tuple[NDArray[np.int64], Words]:
        """For each word, the number of the pointee (-1 for none) and the offset within it."""
        pointees = sorted((part.address, part.size, numbers[key]) for key, part in self.pointees.items() if key in numbers)
        starts = np.array([address for address, _, _ in pointees] or [0], np.uint64)
        sizes = np.array([size for _, size, _ in pointees] or [0], np.uint64)
        named = np.array([number for _, _, number in pointees] or [-1], np.int64)
        index = np.maximum(np.searchsorted(starts, words, side="right").astype(np.int64) - 1, 0)
        inside = words - starts[index]  # an address before the first pointee wraps around to a large offset
        return np.where(inside < sizes[index], named[index], -1), inside


def differing_extent(one: ProgramMemory, other: ProgramMemory, key: Key, after: bool) -> tuple[int, int] | None:
    """Where a part differs between two runs: (the first differing address in `other`, the number of differing bytes); None if
    it does not differ.
    """
    numbers = {place_key: number for number, place_key in enumerate(one.pointees.keys() & other.pointees.keys())}
    first, count = None, 0
    for (_, before), (address, words) in zip(one.chunks(key, after), other.chunks(key, after), strict=True):
        indices = np.flatnonzero(before != words)
        if indices.size:
            (target, offset), (other_target, other_offset) = (
                memory.resolve_pointers(memory_words[indices], numbers)
                for memory, memory_words in ((one, before), (other, words))
            )
            indices = indices[(target < 0) | (target != other_target) | (offset != other_offset)]
        first, count = _add_differences(first, count, address, _as_bytes(before)[:, None] != _as_bytes(words)[:, None], indices)
    return None if first is None else (first, count)


def newly_written_extent(one: ProgramMemory, other: ProgramMemory, key: Key) -> tuple[int, int] | None:
    """What the dispatch changes in `other` but not in `one`: (first address, number of bytes); None if there is nothing. Meant
    for memory that may already differ before the dispatch: a runtime's pools, and data computed from results that may be
    slightly off.
    """
    first, count = None, 0
    runs = (memory.chunks(key, after) for memory in (one, other) for after in (False, True))
    for (_, a), (_, b), (address, c), (_, d) in zip(*runs, strict=True):
        first, count = _add_differences(
            first, count, address, (_as_bytes(c) != _as_bytes(d))[:, None], np.flatnonzero((a == b) & (c != d))
        )
    return None if first is None else (first, count)


def unmatched_part(one: ProgramMemory, other: ProgramMemory) -> str | None:
    """The name of a part that exists in only one of the two runs; None if both have the same parts."""
    only = [*(key for key in one.parts if key not in other.parts), *(key for key in other.parts if key not in one.parts)]
    return None if not only else (one.parts.get(only[0]) or other.parts[only[0]]).name


def rewritten_code(memory: ProgramMemory) -> int | None:
    """The first address at which the kernel's code object, without its variables, differs from its file; None if
    there is no difference.
    """
    capture = memory.capture
    base = int(capture.dispatch["code_object"]["load_delta"])
    elf = _elf(capture)
    relocated = [(relro["p_vaddr"], relro["p_vaddr"] + relro["p_memsz"]) for relro in elf.iter_segments("PT_GNU_RELRO")]
    for segment in elf.iter_segments("PT_LOAD"):
        start, size = segment["p_vaddr"], segment["p_memsz"]
        if segment["p_flags"] & _WRITABLE and not any(a <= start < b for a, b in relocated):
            continue
        expected = bytearray(segment.data() + bytes(size - segment["p_filesz"]))
        unknown = _relocate(elf, expected, start, base)
        for after in (False, True):
            actual = np.frombuffer(capture.memory(base + start, size, after=after), np.uint8)
            mismatches = np.flatnonzero((actual != np.frombuffer(bytes(expected), np.uint8)) & ~unknown)
            if mismatches.size:
                return int(base + start + mismatches[0])
    return None


def _as_bytes(words: Words) -> Bytes:
    return np.ascontiguousarray(words).view(np.uint8)


def _add_differences(
    first: int | None, count: int, address: int, byte_differs: Any, words: NDArray[np.intp]
) -> tuple[int | None, int]:
    """Add the differences found in one more chunk. byte_differs: whether each byte differs. words: indices of the words whose
    differences count.
    """
    if not words.size:
        return first, count
    by_word = byte_differs.reshape(-1, 8)[words]
    if first is None:
        first = int(address + 8 * int(words[0]) + int(np.argmax(by_word[0])))
    return first, count + int(by_word.sum())


def _allocations(capture: Capture) -> Iterator[tuple[Key, MemoryPart]]:
    """All allocations except code objects. Allocations of the same kind and size are numbered in order of address."""
    turns: Counter[tuple[str, int]] = Counter()
    pools = capture.argument_allocations
    for region in capture.regions:
        for address, size in region.allocations if region.kind != _CODE else ():
            if not size:
                continue
            turns[region.kind, size] += 1
            name = f"{size} bytes of {region.kind} memory at {address:#x}"
            yield (region.kind, size, turns[region.kind, size]), MemoryPart(name, address, size, address in pools)


def _other_code_objects(capture: Capture) -> Iterator[MemoryPart]:
    own = int(capture.dispatch["code_object"]["load_base"], 16)
    for region in capture.regions:
        for address, size in region.allocations if region.kind == _CODE else ():
            if address != own and size:
                yield MemoryPart(f"the code object at {address:#x}", address, size)


def _segments(capture: Capture, code: MemoryPart, index: int) -> Iterator[tuple[Key, MemoryPart]]:
    """The parts of another code object that can change, according to its ELF headers; if they are not loaded, all of it."""
    address = code.address
    if code.size < _ELF_HEADER.size or capture.memory(address, len(_MAGIC)) != _MAGIC:
        yield (_CODE, index, code.size), code
        return
    headers = _ELF_HEADER.unpack(capture.memory(address, _ELF_HEADER.size))
    start, count = headers[5], headers[10]
    table = [
        _PROGRAM_HEADER.unpack(entry)
        for entry in _program_headers(capture.memory(address + start, count * _PROGRAM_HEADER.size))
    ]
    relocated = [(vaddr, vaddr + size) for kind, _, _, vaddr, _, _, size, _ in table if kind == _RELRO]
    for number, (kind, flags, _, vaddr, _, _, size, _) in enumerate(table):
        if kind == _LOAD and flags & _WRITABLE and not any(a <= vaddr < b for a, b in relocated):
            name = f"variables of another code object, at {address + vaddr:#x}"
            yield (_CODE, index, number, size), MemoryPart(name, address + vaddr, size)


def _program_headers(table: bytes) -> Iterator[bytes]:
    return (table[i : i + _PROGRAM_HEADER.size] for i in range(0, len(table), _PROGRAM_HEADER.size))


def _symbols(capture: Capture) -> Iterator[tuple[Key, MemoryPart, bool]]:
    """Each symbol of the kernel's code object, the data that it names, and whether the data can change."""
    elf, base = _elf(capture), int(capture.dispatch["code_object"]["load_delta"])
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    turns: Counter[str] = Counter()
    for symbol in sorted(table.iter_symbols() if table else (), key=lambda entry: int(entry["st_value"])):
        if symbol["st_info"]["type"] not in _OBJECTS or not symbol["st_size"] or not isinstance(symbol["st_shndx"], int):
            continue
        if symbol.name.startswith(_BUILD_ID_PREFIX):
            continue
        turns[symbol.name] += 1
        section = elf.get_section(symbol["st_shndx"])
        writable = bool(section["sh_flags"] & 1) and section.name != ".data.rel.ro"
        part = MemoryPart(f"the variable {demangled(symbol.name)}", base + symbol["st_value"], symbol["st_size"])
        yield ("symbol", symbol.name, turns[symbol.name], part.size), part, writable


def writable_variables(capture: Capture) -> dict[str, int]:
    """The variables in the kernel's code object whose values can change: symbol -> size in bytes. Raises SourceError."""
    return {str(key[1]): part.size for key, part, writable in _symbols(capture) if writable}


def _relocate(elf: Any, content: bytearray, start: int, base: int) -> Mask:
    """Relocate a segment of the file as the loader would. Returns a mask: True for bytes whose values are not known."""
    unknown = np.zeros(len(content), bool)
    section = elf.get_section_by_name(".rela.dyn")
    symbols = elf.get_section_by_name(".dynsym")
    for entry in section.iter_relocations() if section else ():
        offset = entry["r_offset"] - start
        if not 0 <= offset <= len(content) - _PATCHED_BYTES:
            continue
        patched = slice(offset, offset + _PATCHED_BYTES)
        symbol = symbols.get_symbol(entry["r_info_sym"]) if symbols and entry["r_info_sym"] else None
        if entry["r_info_type"] == _RELATIVE:
            content[patched] = ((base + entry["r_addend"]) % (1 << 64)).to_bytes(8, "little")
        elif entry["r_info_type"] == _ABSOLUTE and symbol is not None and isinstance(symbol["st_shndx"], int):
            content[patched] = ((base + symbol["st_value"] + entry["r_addend"]) % (1 << 64)).to_bytes(8, "little")
        else:
            unknown[patched] = True
    return unknown


def _elf(capture: Capture) -> Any:
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(io.BytesIO(capture.code_object.read_bytes()))
    except Exception as error:  # the ELF reader raises all kinds of exceptions on damaged files
        raise SourceError(f"{capture.code_object} cannot be read ({error})", "capture it again") from error
