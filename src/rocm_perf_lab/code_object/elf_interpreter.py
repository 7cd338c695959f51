"""Finds the dynamic loader that a program names. To save time in every command that runs a program, no ELF library is used.

Format: ELF-64 Object File Format, "Program Header Table".
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_ELF_64_LITTLE_ENDIAN = b"\x7fELF\x02\x01"
_HEADER_BYTES = 64
_PT_INTERP = 3


def interpreter_of(program: Path) -> str | None:
    """The path in the program's PT_INTERP segment; None for anything but a dynamically linked 64-bit ELF file."""
    try:
        with program.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            if not header.startswith(_ELF_64_LITTLE_ENDIAN):
                return None
            (table,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(table)
            headers = file.read(size * count)
            for number in range(count):
                kind, _flags, offset, _address, _physical, length = struct.unpack_from("<IIQQQQ", headers, number * size)
                if kind == _PT_INTERP:
                    file.seek(offset)
                    return os.fsdecode(file.read(min(length, os.pathconf("/", "PC_PATH_MAX"))).partition(b"\0")[0]) or None
    except (OSError, OverflowError, ValueError, struct.error):  # from a damaged file, whose offsets can be anything
        pass
    return None
