"""Source lines of machine code, from the DWARF line tables of a code object."""

from __future__ import annotations

import bisect
import io
import posixpath
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LineTable:
    """addresses: ascending; addresses[i] begins a range of code that belongs to locations[i], which is "file:line", or "" if
    the code has no line.

    Code that the compiler assigns to no line (line 0) belongs to the line before it, as in LLVM's own listings.
    """

    addresses: tuple[int, ...]
    locations: tuple[str, ...]

    def location_at(self, address: int) -> str:
        """The location to which an address belongs; "" if it is not known."""
        row = bisect.bisect_right(self.addresses, address) - 1
        return self.locations[row] if row >= 0 else ""


NO_LINES = LineTable((), ())


def line_table(image: bytes) -> LineTable:
    """The line table of an image; empty if it has no line numbers or its debug information cannot be read."""
    from elftools.elf.elffile import ELFFile

    rows: dict[int, str] = {}
    try:
        elf = ELFFile(io.BytesIO(image))
        if not elf.has_dwarf_info():
            return NO_LINES
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            _read_unit(dwarf.line_program_for_CU(unit), unit, rows)
    except Exception:  # the DWARF reader raises all kinds of exceptions for damaged files
        return NO_LINES
    addresses = sorted(rows)
    return LineTable(tuple(addresses), tuple(rows[address] for address in addresses))


def _read_unit(program: Any, unit: Any, rows: dict[int, str]) -> None:
    if program is None:
        return
    folder = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    files = _files(program, folder.value.decode("utf-8", "replace") if folder else "")
    first = 0 if program.header["version"] >= 5 else 1
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            rows.setdefault(state.address, "")  # unless another sequence begins here
            continue
        number = state.file - first
        if state.line and 0 <= number < len(files):
            rows[state.address] = f"{files[number]}:{state.line}"


def _files(program: Any, folder: str) -> list[str]:
    """The paths of a unit's files, which are numbered from 0 in DWARF 5 and from 1 in earlier versions."""
    header = program.header
    names = [name.decode("utf-8", "replace") for name in header["include_directory"]]
    folders = names if header["version"] >= 5 else [folder, *names]
    return [
        posixpath.normpath(posixpath.join(folder, folders[entry.dir_index], entry.name.decode("utf-8", "replace")))
        for entry in header["file_entry"]
    ]
