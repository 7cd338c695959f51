"""Whether a program holds a kernel's source text as data, such as by `.incbin`, `#embed` or a macro that makes a string of it.

It may compile that text while it runs, and what becomes of a change there is not judged.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

_LOADED = 2  # SHF_ALLOC
_LEAST_LETTERS = 40  # a shorter text can occur by chance, or in an assertion


def holds_text(program: Path, text: bytes) -> bool:
    """Whether the program's loaded sections contain the text, whatever its white space."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    wanted = _joined(text)
    if len(wanted) < _LEAST_LETTERS:
        return False
    image = program.read_bytes()
    try:
        sections = [one for one in ELFFile(io.BytesIO(image)).iter_sections() if one["sh_flags"] & _LOADED]
        return any(wanted in _joined(one.data()) for one in sections if one["sh_type"] != "SHT_NOBITS")
    except ELFError:  # a script
        return wanted in _joined(image)


def _joined(text: bytes) -> bytes:
    return re.sub(rb"\s+|\\n", b"", text)
