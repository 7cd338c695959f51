"""The loader that a program names, against pyelftools; damaged files name none and raise no exception."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

from rocm_perf_lab import native
from rocm_perf_lab.code_object.elf_interpreter import interpreter_of


def by_elftools(path: Path) -> str | None:
    with path.open("rb") as file:
        return next((segment.get_interp_name() for segment in ELFFile(file).iter_segments("PT_INTERP")), None)


def test_the_interpreter_of_programs_and_libraries_is_the_one_that_pyelftools_reads() -> None:
    program, library = Path(sys.executable), native.device_library()
    assert interpreter_of(program) == by_elftools(program) is not None
    assert interpreter_of(library) == by_elftools(library) is None


def test_other_and_damaged_files_have_no_interpreter_or_a_truncated_one(tmp_path: Path) -> None:
    head, draw, path = Path(sys.executable).read_bytes()[:4096], random.Random(1), tmp_path / "program"
    path.write_text("#!/bin/sh\n")
    assert interpreter_of(path) is None
    assert interpreter_of(tmp_path / "absent") is None
    for cut in range(0, 1024, 7):
        path.write_bytes(head[:cut])
        assert interpreter_of(path) is None or cut > 64
    for _ in range(200):
        damaged = bytearray(head)
        for _ in range(4):
            damaged[draw.randrange(16, 1024)] = draw.randrange(256)
        path.write_bytes(damaged)
        found = interpreter_of(path)
        assert found is None or len(found) <= 4096
