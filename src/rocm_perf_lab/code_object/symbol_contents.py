"""The contents of an ELF file, symbol by symbol, so that two builds can be compared regardless of the linker's layout.

A linked code object must keep its relocations (`--emit-relocs`): they identify the bytes that hold distances, which change with
the layout, and the targets of these distances. It must also keep the names of private constants (`-msave-temp-labels`). Source:
LLVM's AMDGPUUsage.rst, "Relocation Records".
"""

from __future__ import annotations

import functools
import hashlib
import io
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rocm_perf_lab.code_object.fat_binary import not_whole
from rocm_perf_lab.errors import SourceError

_FUNCTION, _OBJECT = "STT_FUNC", "STT_OBJECT"
_BITCODE = b"BC\xc0\xde"  # as produced by -flto
_WIDTHS = {1: 4, 2: 4, 3: 8, 4: 4, 5: 8, 6: 4, 7: 4, 8: 4, 9: 4, 10: 4, 11: 4}  # R_AMDGPU_* -> number of bytes that it patches
_GOT_RELOCATIONS = (7, 8, 9)
# The distance from the address that s_getpc_b64 returns to the patched field (12 bytes for the high half).
# The addend includes this distance.
_BYTES_BEFORE = {10: 4, 11: 12, 4: 4}
_UNIQUE = "__hip_cuid_"
_LOADED = 2  # SHF_ALLOC


@dataclass(frozen=True)
class SymbolContent:
    """A piece of a code object: the object that a symbol names. content: its bytes, with zeros where a relocation patches them;
    None if the file has no bytes for it.

    references: (offset in the object, target) of each relocation. writable: whether the object is in writable memory. linkage:
    its symbol's binding and visibility.
    """

    name: str
    kind: str
    size: int
    content: bytes | None
    references: tuple[tuple[int, str], ...]
    writable: bool
    linkage: str = ""

    @property
    def is_function(self) -> bool:
        return self.kind == _FUNCTION


@functools.lru_cache(maxsize=16)  # one verdict requires the same few objects again and again
def contents_by_symbol(image: bytes) -> dict[str, SymbolContent]:
    """The functions, kernel descriptors and variables of a linked code object, keyed by symbol.

    Raises SourceError if they cannot be read. All callers with the same image share the result, so it must not be changed.
    """
    from elftools.elf.elffile import ELFFile

    try:
        return _Layout(ELFFile(io.BytesIO(image))).pieces()
    except Exception as error:  # the ELF reader raises all kinds of exceptions for damaged files
        raise SourceError(f"code object without readable symbols: {not_whole(error)}", "build it again") from error


def text_section(image: bytes) -> bytes:
    """The whole machine code of a linked code object; b"" if it has none. Raises SourceError if the image cannot be read."""
    from elftools.elf.elffile import ELFFile

    try:
        section = ELFFile(io.BytesIO(image)).get_section_by_name(".text")
        return section.data() if section else b""
    except Exception as error:  # the ELF reader raises all kinds of exceptions for damaged files
        raise SourceError(f"code object without readable sections: {not_whole(error)}", "build it again") from error


def width_of(reference: str) -> int:
    """The number of bytes patched by the relocation behind `reference`, a target in SymbolContent.references."""
    return _WIDTHS[int(reference.split(" ", 1)[0])]


def host_sections(image: bytes) -> Mapping[str, tuple[Any, ...]]:
    """For each section of a relocatable host object, its type, flags, size and bytes, or its relocations if it consists of
    these. The symbols are under "symbols".

    Debug information, and sections that only name the compiler, are left out. Raises SourceError if the object cannot be read
    or is LLVM bitcode.
    """
    from elftools.elf.elffile import ELFFile

    if image.startswith(_BITCODE):
        raise SourceError("the host object is LLVM's bitcode, whose parts cannot be compared", "build without -flto")
    try:
        return _loaded(ELFFile(io.BytesIO(image)))
    except Exception as error:
        raise SourceError(f"host object without readable sections: {not_whole(error)}", "build it again") from error


class _Layout:
    def __init__(self, elf: Any):
        self._elf = elf
        self._sections = list(elf.iter_sections())
        symbols = elf.get_section_by_name(".symtab")
        self._all = list(symbols.iter_symbols())
        self._symbols = [s for s in self._all if s["st_info"]["type"] in (_FUNCTION, _OBJECT) and s["st_size"] > 0]
        self._symbols = [s for s in self._symbols if isinstance(s["st_shndx"], int) and not s.name.startswith(_UNIQUE)]
        self._ranges = sorted((s["st_value"], s["st_size"], number) for number, s in enumerate(self._symbols))
        self._patches = self._relocations()

    def pieces(self) -> dict[str, SymbolContent]:
        contents: dict[str, SymbolContent] = {}
        for symbol in self._symbols:
            name, number = symbol.name, 1
            while name in contents:
                number += 1
                name = f"{symbol.name} #{number}"
            contents[name] = self._piece(symbol, name)
        return contents

    def _piece(self, symbol: Any, name: str) -> SymbolContent:
        section = self._sections[symbol["st_shndx"]]
        start, size = symbol["st_value"], symbol["st_size"]
        content, references = self._content(section, start, size)
        writable = bool(section["sh_flags"] & 1) and section.name != ".data.rel.ro"
        linkage = f"{symbol['st_info']['bind']} {symbol['st_other']['visibility']}"
        return SymbolContent(name, symbol["st_info"]["type"], size, content, references, writable, linkage)

    def _content(self, section: Any, start: int, size: int) -> tuple[bytes | None, tuple[tuple[int, str], ...]]:
        if section["sh_type"] == "SHT_NOBITS":
            return None, ()
        first = start - section["sh_addr"]
        content, references = bytearray(section.data()[first : first + size]), []
        for address, kind, target in self._patches_in(start, start + size):
            content[address - start : address - start + _WIDTHS[kind]] = bytes(_WIDTHS[kind])
            references.append((address - start, f"{kind} {target}"))
        return bytes(content), tuple(references)

    def _patches_in(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        for address, kind, symbol, addend in self._patches[bisect_right(self._patches, (start - 1, 1 << 32)) :]:
            if address >= end:
                return
            yield address, kind, self._target(kind, symbol, addend)

    def _relocations(self) -> list[tuple[int, int, int, int]]:
        """(address, kind, symbol number, addend) of all relocations except those for the loader, which moves whole segments."""
        relocations = []
        for section in self._sections:
            patched = self._sections[section["sh_info"]] if section["sh_type"] == "SHT_RELA" else None
            if patched is not None and not section["sh_flags"] & _LOADED and patched["sh_flags"] & _LOADED:
                for entry in section.iter_relocations():
                    relocations.append((entry["r_offset"], entry["r_info_type"], entry["r_info_sym"], entry["r_addend"]))
        return sorted(relocations)

    def _target(self, kind: int, number: int, addend: int) -> str:
        symbol = self._all[number]
        shift = addend - _BYTES_BEFORE.get(kind, 0)
        if kind in _GOT_RELOCATIONS or not isinstance(symbol["st_shndx"], int):
            return f"{symbol.name}{addend:+d}"
        address = symbol["st_value"] + shift
        owner = self._symbol_at(address)
        if owner is None:
            return self._unnamed(address)
        offset = address - owner["st_value"]
        local = owner["st_info"]["bind"] == "STB_LOCAL" and owner["st_info"]["type"] == _OBJECT
        return f"{self._content_name(owner) if local else owner.name}{offset:+d}"

    def _symbol_at(self, address: int) -> Any | None:
        index = bisect_right(self._ranges, (address, 1 << 62, 0)) - 1
        if index < 0:
            return None
        start, size, number = self._ranges[index]
        return self._symbols[number] if start <= address < start + size else None

    def _unnamed(self, address: int) -> str:
        """A name derived from all bytes up to the next symbol: these include more than the target, so no change is missed. If
        the file has no bytes for the address, the name is the address.
        """
        section = next(
            (s for s in self._sections if s["sh_flags"] & _LOADED and s["sh_addr"] <= address < s["sh_addr"] + s["sh_size"]),
            None,
        )
        if section is None or section["sh_type"] == "SHT_NOBITS":
            return f"address {address:#x}"
        index = bisect_right(self._ranges, (address, 1 << 62, 0))
        end = self._ranges[index][0] if index < len(self._ranges) else section["sh_addr"] + section["sh_size"]
        return (
            "bytes " + hashlib.sha256(section.data()[address - section["sh_addr"] : end - section["sh_addr"]]).hexdigest()[:16]
        )

    def _content_name(self, symbol: Any) -> str:
        """A name for a local object. The compiler numbers unnamed constants in order of appearance, so constants are named
        after their contents instead.
        """
        section = self._sections[symbol["st_shndx"]]
        if section["sh_type"] == "SHT_NOBITS" or section["sh_flags"] & 1:
            return str(symbol.name)
        first = symbol["st_value"] - section["sh_addr"]
        return "constant " + hashlib.sha256(section.data()[first : first + symbol["st_size"]]).hexdigest()[:16]


_NOT_LOADED = (".comment", ".llvm_addrsig", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab")


def _loaded(elf: Any) -> dict[str, tuple[Any, ...]]:
    names = [symbol.name for symbol in elf.get_section_by_name(".symtab").iter_symbols()]
    contents: dict[str, tuple[Any, ...]] = {}
    for section in elf.iter_sections():
        base = section.name.removeprefix(".rela")
        if not section.name or base.startswith((".debug", *_NOT_LOADED)):
            continue
        if section["sh_type"] == "SHT_RELA":
            content = tuple(
                (r["r_offset"], r["r_info_type"], names[r["r_info_sym"]], r["r_addend"]) for r in section.iter_relocations()
            )
        else:
            content = (section["sh_type"], section["sh_flags"], section["sh_size"], section.data())
        key, number = section.name, 1
        while key in contents:
            number += 1
            key = f"{section.name} #{number}"
        contents[key] = content
    symbols = elf.get_section_by_name(".symtab").iter_symbols()
    contents["symbols"] = tuple((s.name, s["st_value"], s["st_size"], str(s["st_info"]), str(s["st_shndx"])) for s in symbols)
    return contents
