"""The layout of a code object: its notes, its sections, and the functions to which its executable bytes belong."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rocm_perf_lab.errors import SourceError

_METADATA = b"AMDGPU\0"
_LINKING_FLAGS = 0x70  # SHF_MERGE, SHF_STRINGS and SHF_INFO_LINK: how a linker joins sections, with no effect on what is loaded
_EXECUTABLE, _NOTE_ALIGNMENT = 1, 4  # PF_X; the alignment of PT_NOTE at which all readers walk notes in the same way
# The padding that LLVM's assembler and linker write into gaps: s_nop 0, s_code_end, zeros.
_PADDING = (b"\x00\x00\x80\xbf", b"\x00\x00\x9f\xbf", b"\0\0\0\0")


@dataclass(frozen=True)
class ElfSection:
    """name, kind and flags as in the section's header, without the flags that concern only the linker."""

    name: str
    kind: str
    flags: int


@dataclass(frozen=True)
class CodeObjectLayout:
    """notes: what is wrong with the metadata note, or None if nothing is. sections: all sections. unowned: each run of bytes in
    executable segments that belongs to no function and is not the linker's padding.
    """

    notes: str | None
    sections: frozenset[ElfSection]
    unowned: tuple[bytes, ...]


def layout_of(image: bytes) -> CodeObjectLayout:
    """The layout of a code object. Raises SourceError if the image is not a readable ELF file."""
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
        sections = frozenset(
            ElfSection(s.name, str(s["sh_type"]), s["sh_flags"] & ~_LINKING_FLAGS) for s in elf.iter_sections()
        )
        return CodeObjectLayout(_notes(elf), sections, tuple(_unowned(elf)))
    except Exception as error:  # the ELF reader raises all kinds of exceptions for damaged files
        raise SourceError(f"code object without readable layout ({type(error).__name__}: {error})", "build it again") from error


def _notes(elf: Any) -> str | None:
    """What is wrong with the notes; None if nothing is. Readers step through the notes at the segment's alignment; some take
    the first match and others the last, so all readers must arrive at the same note.
    """
    segments = list(elf.iter_segments("PT_NOTE"))
    if any(segment["p_align"] != _NOTE_ALIGNMENT for segment in segments):
        return "its notes are not aligned to 4 bytes"
    names = [name for segment in segments for name in _walked(segment.data())]
    if None in names:
        return "its notes do not fill their segment"
    if names.count(_METADATA) != 1:
        return f"it has {names.count(_METADATA)} notes with metadata"
    places = [(segment["p_vaddr"], segment["p_vaddr"] + segment["p_filesz"]) for segment in segments]
    for section in elf.iter_sections("SHT_NOTE"):
        start, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
        if not any(first <= start and end <= last for first, last in places):
            return f"the notes in {section.name} are outside the segments for notes"
    return None


def _walked(notes: bytes) -> Iterator[bytes | None]:
    """The name of each note [ELF gABI, "Note Section"]; None for a note that extends beyond the end."""
    offset = 0
    while offset < len(notes):
        if offset + 12 > len(notes):
            yield None
            return
        name, content, _ = struct.unpack_from("<III", notes, offset)
        yield notes[offset + 12 : offset + 12 + name]
        offset += 12 + -(-name // 4) * 4 + -(-content // 4) * 4
    if offset != len(notes):
        yield None


def _unowned(elf: Any) -> Iterator[bytes]:
    symbols = elf.get_section_by_name(".symtab").iter_symbols()
    functions = sorted((s["st_value"], s["st_size"]) for s in symbols if s["st_info"]["type"] == "STT_FUNC")
    for segment in elf.iter_segments("PT_LOAD"):
        if not segment["p_flags"] & _EXECUTABLE:
            continue
        content, first = segment.data(), segment["p_vaddr"]
        address, last = first, first + len(content)
        for start, size in (*functions, (last, 0)):
            if address < start <= last and not _is_padding(gap := content[address - first : start - first]):
                yield gap
            if first <= start <= last:
                address = max(address, start + size)
        if segment["p_memsz"] != len(content):
            yield bytes(segment["p_memsz"] - len(content))


def _is_padding(gap: bytes) -> bool:
    return all(gap[offset : offset + 4] in _PADDING for offset in range(0, len(gap), 4))
