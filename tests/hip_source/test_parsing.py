"""A file that is parsed repeatedly is read each time as if for the first time."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import parsing, read
from rocm_perf_lab.hip_source.flags import parse_flags

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942")
REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = (REPOSITORY / "tests" / "optimize" / "program.hip").read_text()


def declarations(unit):
    """Everything in the user's files: kind, type, place and text. Once file by file, and once in the order of the language."""
    top = unit.user_declarations
    by_file = sorted(top, key=lambda one: one.location.file.name)
    return [
        (inner.kind.name, inner.spelling, inner.type.spelling, inner.extent.start.offset, unit.text_of(inner))
        for cursor in (*by_file, *(one for one in top if one.kind.is_declaration()))
        for inner in cursor.walk_preorder()
    ]


def seen(path: Path, text: str, also: dict[Path, bytes] | None = None):
    """What the optimizer reads from a source: declarations in both passes, kernels and their loops, files; or the error."""
    source = read(path, COMMAND, text=text.encode()).with_text(text.encode(), also)
    try:
        return declarations(source.device), declarations(source.host), source.kernels, set(source.included)
    except SourceError as error:
        return error.problem


@pytest.fixture(autouse=True)
def nothing_precompiled():
    parsing._includes_by_key.clear()
    parsing._impossible.clear()


@contextlib.contextmanager
def nothing_is_precompiled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_precompiled", lambda *_: None)
        yield


def fresh(path: Path, text: str, also: dict[Path, bytes] | None = None):
    with nothing_is_precompiled():
        return seen(path, text, also)


def with_precompiled(path: Path, text: str, also: dict[Path, bytes] | None = None):
    """The same, and the number of passes for which the includes were precompiled."""
    found = seen(path, text, also)
    return found, len(parsing._includes_by_key)


def test_each_text_is_read_as_if_for_the_first_time(tmp_path):
    path = tmp_path / "program.hip"
    (tmp_path / "step.h").write_text("#pragma once\n#define STEP 1\nstruct Step { int by; };\n")
    first = '#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    texts = [
        first,
        first.replace("float sum = 0;", "float sum = 1;"),
        "#define EARLY 1\n" + first,
        first.replace("int columns)", "int columns"),
        first.replace('#include "step.h"', "#define STEP 2"),
        first,
    ]
    expected = [fresh(path, text) for text in texts]
    assert len({repr(one) for one in expected}) == len(texts) - 1
    assert not parsing._includes_by_key
    for text, one in zip(texts, expected, strict=True):
        assert seen(path, text) == one
    assert parsing._includes_by_key

    (tmp_path / "step.h").write_text("#pragma once\n#define STEP 3\nstruct Step { int by; };\n")  # is read again
    (loop,) = [kernel for kernel in seen(path, first)[2] if kernel.name == "sum_rows"][0].loops
    assert loop.step == 3


@pytest.mark.parametrize(
    "header, before, precompiled",
    [
        ("#ifndef STEP\n#define STEP 1\nenum { a };\n#endif\n", "", 2),
        ("#define STEP 1\nstatic int not_guarded;\n", "", 0),  # it would be declared twice
        ("#pragma once\n#ifdef EARLY\n#define STEP 1\n#else\n#define STEP 2\n#endif\n", "#define EARLY\n", 0),
        ("#pragma once\n#define STEP 1\n", "#include <stdint.h>\n/* */ // of this program\n", 2),
    ],
    ids=["guarded", "not guarded", "depends on a macro", "after another"],
)
def test_precompiled_includes_change_nothing(tmp_path, header, before, precompiled):
    path = tmp_path / "program.hip"
    (tmp_path / "step.h").write_text(header)
    text = before + '#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    expected = fresh(path, text)
    assert len(expected) == 4
    assert with_precompiled(path, text) == (expected, precompiled)
    assert with_precompiled(path, text) == (expected, precompiled)


def test_a_file_by_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("step.h").write_text("#pragma once\nenum { a };\n")
    text = '#include <stdint.h>\n#include "step.h"\n' + PROGRAM
    expected = fresh(Path("program.hip"), text)
    assert with_precompiled(Path("program.hip"), text) == (expected, 2)


def test_the_old_version_of_a_replaced_header_is_not_loaded(tmp_path):
    path, header = tmp_path / "program.hip", tmp_path / "step.h"
    header.write_text("#pragma once\n#define STEP 1\n")
    text = '#include <stdint.h>\n#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    with_precompiled(path, text)
    also = {header.resolve(): b"#pragma once\n#define STEP 2\n"}
    found = seen(path, text, also)
    assert [loop.step for kernel in found[2] if kernel.name == "sum_rows" for loop in kernel.loops] == [2]
    assert found == fresh(path, text, also)


def test_programs_in_several_folders_share_their_precompiled_includes(tmp_path):
    text, header = "#include <stdint.h>\n" + PROGRAM, "#pragma once\n#include_next <stdint.h>\nusing own = int;\n"
    paths = [tmp_path / name / "program.hip" for name in ("first", "second", "with a header of this name")]
    for path, name in zip(paths, ("unrelated.h", "other.h", "stdint.h"), strict=True):
        path.parent.mkdir()
        (path.parent / name).write_text(header)
    found, kept = zip(*(with_precompiled(path, text) for path in paths), strict=True)
    assert kept == (2, 2, 4)
    assert [*found] == [fresh(path, text) for path in paths]
    assert paths[2].with_name("stdint.h") in found[2][3]


def handed_over(path: Path, text: str):
    """What a process that has read the text hands over to another, which has read nothing yet, by way of JSON."""
    seen(path, text)
    found = [(json.loads(json.dumps(described)), content) for described, content in precompiled_includes(path, text)]
    parsing._includes_by_key.clear()
    return found


def precompiled_includes(path: Path, text: str):
    return read(path, COMMAND, text=text.encode()).precompiled_includes


def test_another_process_takes_over_what_is_precompiled(tmp_path, monkeypatch):
    path = tmp_path / "program.hip"
    (tmp_path / "step.h").write_text("#pragma once\n#define STEP 1\n")
    text = '#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    expected = fresh(path, text)
    assert precompiled_includes(path, text) == []
    for described, content in handed_over(path, text):
        parsing.adopt_includes(described, content)
    assert len(parsing._includes_by_key) == 2
    monkeypatch.setattr(parsing, "precompile", lambda *_: pytest.fail("it is precompiled again"))
    assert seen(path, text) == expected


def test_includes_taken_over_are_not_used_once_a_header_has_changed(tmp_path):
    path, header = tmp_path / "program.hip", tmp_path / "step.h"
    header.write_text("#pragma once\n#define STEP 1\n")
    text = '#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    before = handed_over(path, text)
    header.write_text("#pragma once\n#define STEP 12\n")
    for described, content in before:
        parsing.adopt_includes(described, content)
    assert seen(path, text) == fresh(path, text)


def test_the_flags_of_a_command_are_a_command_with_the_same_flags(tmp_path):
    flags = parse_flags(COMMAND, tmp_path / "program.hip", tmp_path)
    assert parse_flags(["hipcc", *flags], tmp_path / "program.hip", tmp_path) == flags


def test_precompiled_includes_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (path := tmp_path / "program.hip").write_text(text := "#include <stdint.h>\n" + PROGRAM)
    assert with_precompiled(path, text)[1] == 2
    assert [*tmp_path.iterdir()] == [path]
    opened = len(os.listdir("/proc/self/fd"))
    parsing._includes_by_key.clear()
    assert len(os.listdir("/proc/self/fd")) == opened - 2


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted((REPOSITORY / "testbed").glob("*.hip")), ids=lambda path: path.stem)
def test_programs_are_read_the_same(program):
    text = program.read_text()
    command = ("hipcc", "-O2", "--offload-arch=gfx942")
    plain = read(program, command)
    with nothing_is_precompiled():
        expected = declarations(plain.device), declarations(plain.host), plain.kernels, set(plain.included)
    again = read(program, command, text=(text + "\n").encode())
    assert (declarations(again.device), declarations(again.host), again.kernels, set(again.included)) == expected
    assert len(parsing._includes_by_key) == 2
