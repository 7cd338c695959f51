"""Whether a program, or one of its own libraries, contains a kernel's source text as data, for example through `.incbin`,
`#embed` or a macro that turns it into a string.

The program may compile that text at run time, and the effect of a change to that text would not be judged.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

from rocm_perf_lab.collect.device_code import linked_libraries

_LOADED_SECTION = 2  # SHF_ALLOC
_SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/lib", "/lib64", "/opt/rocm")))  # libraries there are not built with the program
_MIN_LETTERS = 40  # a shorter text can occur by chance, or in an assertion


def holds_text(program: Path, text: bytes) -> bool:
    """Whether the loaded sections of the program, or of a library that it is linked to, contain the text, ignoring white
    space.
    """
    wanted = _without_white_space(text)
    if len(wanted) < _MIN_LETTERS:
        return False
    own = [
        path for path in linked_libraries(program, os.environ) if not any(map(path.resolve().is_relative_to, _SYSTEM_FOLDERS))
    ]
    return any(_file_holds_text(file, wanted) for file in (program, *own))


def _file_holds_text(file: Path, wanted: bytes) -> bool:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    image = file.read_bytes()
    try:
        sections = [section for section in ELFFile(io.BytesIO(image)).iter_sections() if section["sh_flags"] & _LOADED_SECTION]
        return any(wanted in _without_white_space(section.data()) for section in sections if section["sh_type"] != "SHT_NOBITS")
    except ELFError:  # a script
        return wanted in _without_white_space(image)


def _without_white_space(text: bytes) -> bytes:
    return re.sub(rb"\s+|\\n", b"", text)
