"""A file that is parsed again and again is read each time as if for the first time."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import parsing, read

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942")
PROGRAM = (Path(__file__).parents[1] / "optimize" / "program.hip").read_text()


def declarations(unit):
    """All that stands in the user's files: what it is, of which type, where, and its text."""
    return [
        (inner.kind.name, inner.spelling, inner.type.spelling, inner.extent.start.offset, unit.text_of(inner))
        for cursor in unit.user_declarations
        for inner in cursor.walk_preorder()
    ]


def seen(path: Path, text: str):
    """What the optimizer takes from a source: declarations in both passes, kernels and their loops; or the error."""
    source = read(path, COMMAND, text=text.encode())
    try:
        return declarations(source.device), declarations(source.host), source.kernels
    except SourceError as error:
        return error.what


def test_each_text_is_read_as_if_for_the_first_time(tmp_path):
    path = tmp_path / "program.hip"
    (tmp_path / "step.h").write_text("#define STEP 1\n")
    first = '#include "step.h"\n' + PROGRAM.replace("++i) sum", "i += STEP) sum")
    texts = [
        first,
        first.replace("float sum = 0;", "float sum = 1;"),
        "#define EARLY 1\n" + first,
        first.replace("int columns)", "int columns"),
        first.replace('#include "step.h"', "#define STEP 2"),
        first,
    ]
    expected = []
    for text in texts:
        parsing._idle.clear()
        parsing._seen.clear()
        expected.append(seen(path, text))
    parsing._seen.clear()
    for text, fresh in zip(texts, expected, strict=True):
        gc.collect()
        assert seen(path, text) == fresh
    assert parsing._idle
    assert len({repr(one) for one in expected}) == len(texts) - 1

    (tmp_path / "step.h").write_text("#define STEP 3\n")  # a header that changes is read again
    (loop,) = [kernel for kernel in seen(path, first)[2] if kernel.name == "sum_rows"][0].loops
    assert loop.step == 3
