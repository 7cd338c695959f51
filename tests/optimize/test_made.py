"""Outputs of a compiler that ended well: only files of limited size are read, and errors name them."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from rocm_perf_lab.code_object import code_objects_in, parse
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.optimize.builders import SourceBuilder

REMOVED = "links, pipes, sockets and device files are removed"
CUT = "it is not a whole ELF file ("
NOISE = r"""{ printf '\177ELF\2\1\1'; head -c 200 /dev/zero | tr '\0' '\377'; } > "$out" """
ENDINGS = {
    "nothing": (":", "made no file at the path given by -o"),
    "a pipe": ('mkfifo "$out"', REMOVED),
    "a link": ('ln -s /etc/passwd "$out"', REMOVED),
    "a folder": ('mkdir "$out"', "made a folder at the path given by -o"),
    "a sparse file": ('truncate -s 3900M "$out"', "made a file of 3.8 GiB, but at most 1 GiB can be read"),
    "the beginning of an ELF file": (r'printf "\177ELF\2\1\1" > "$out"', CUT + "it ends within its first header)"),
    "an ELF file with noise": (NOISE, CUT),
    "many files": ('mkdir "$out.d"; cd "$out.d"; seq 110000 | xargs touch; sleep 20', "made more than 100,000 files"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_errors_about_compiler_outputs_name_them(name, tmp_path):
    script, words = ENDINGS[name]
    (tmp_path / "bin").mkdir()
    compiler = tmp_path / "bin" / "hipcc"
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n{script}\n')
    compiler.chmod(0o755)
    source = tmp_path / "a.hip"
    source.write_text("")
    with pytest.raises(SourceError) as raised:
        SourceBuilder("gfx942").code_object(HipSource(source, (str(compiler), str(source)), tmp_path, b""))
    assert words in str(raised.value), raised.value


def test_a_large_program_is_not_read_as_a_whole(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    with program.open("r+b") as file:
        file.truncate(6 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code_objects_in(program) == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_truncated_code_object_is_reported_in_one_sentence():
    with pytest.raises(SourceError, match=r"it is not a whole ELF file \("):
        parse(b"\x7fELF" + bytes(10))
