"""Code that depends on the name of its file, or on its line, is found by making it in other places."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.gate.elsewhere import program_differs
from rocm_perf_lab.gate.place_of_text import depends_on_place
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.optimize.compile import SourceBuilder

pytestmark = pytest.mark.usefixtures("hipcc")
BODY = "out[threadIdx.x] = n;"
SOURCE = """\
#include <hip/hip_runtime.h>
#define NAME sizeof(__FILE__)
#define LINE __LINE__
constexpr int letters(const char* in = __builtin_FILE()) { return *in ? 1 + letters(in + 1) : 0; }
__global__ void other(int* out) { out[0] = __LINE__; }
__global__ void target(int* out, int n) { %s }
int main() {}
"""
COMMAND = ("hipcc", "-O3", "--offload-arch=gfx942", "x.hip", "-o", "x")


def source(folder: Path, body: str, text: str = SOURCE) -> HipSource:
    (folder / "x.hip").write_text(text % body)
    return read(folder / "x.hip", COMMAND, folder)


def complaint(folder: Path, body: str, baseline: str = BODY, given: str | None = None) -> str | None:
    before, judged = source(folder, baseline), source(folder, body)
    return depends_on_place(before, judged, (given or judged.text.decode()).encode(), judged.text, SourceBuilder("gfx942"))


@pytest.mark.parametrize(
    "body",
    [
        "out[threadIdx.x] = NAME < 7 ? n : n + 1;",  # short only by the name in the command
        "out[threadIdx.x] = NAME < 1000 ? n : LINE == 6 ? n : n + 1; out[1] = LINE;",
        "out[threadIdx.x] = letters() > 5 ? n : n + 1;",
        "auto f = [](auto x) { return sizeof(__PRETTY_FUNCTION__); }; out[threadIdx.x] = n + f([] {});",
    ],
)
def test_what_depends_on_the_place_is_named(tmp_path, body):
    assert "depends on the name of its file or on its line" in complaint(tmp_path, body)


def test_what_does_not_is_not(tmp_path):
    """The other kernel's code does, as in the baseline."""
    assert complaint(tmp_path, "out[threadIdx.x] = n * 2;") is None
    assert complaint(tmp_path, "out[threadIdx.x] = n * 2 + LINE;", "out[threadIdx.x] = LINE;") is None


def test_lines_that_the_candidate_adds_elsewhere_count(tmp_path):
    """Foreseen for the line on which it stands in its own file."""
    body = "out[threadIdx.x] = n + (__LINE__ == 8);"
    given = (SOURCE % body).replace("int main", "// told\nint main").replace("#define NAME", "\n\n#define NAME")
    assert given.splitlines()[7].endswith(f"{{ {body} }}")
    assert "_Z6targetPii" in complaint(tmp_path, body, given=given)


def test_a_program_that_was_built_from_another_text_differs(tmp_path):
    judged, builder = source(tmp_path, BODY), SourceBuilder("gfx942")
    subprocess.run([*COMMAND, "-gline-tables-only"], cwd=tmp_path, check=True)
    assert program_differs(tmp_path / "x", judged, builder) is None
    source(tmp_path, "out[threadIdx.x] = n + 1;")
    subprocess.run(COMMAND, cwd=tmp_path, check=True)
    assert "not the code that was judged" in program_differs(tmp_path / "x", judged, builder)


def test_an_assertion_names_its_file_in_the_program_as_in_the_command(tmp_path):
    asserted = SOURCE.replace("<hip/hip_runtime.h>", "<hip/hip_runtime.h>\n#include <cassert>")
    judged = source(tmp_path, "assert(n > 0); " + BODY, asserted)
    subprocess.run(COMMAND, cwd=tmp_path, check=True)
    assert program_differs(tmp_path / "x", judged, SourceBuilder("gfx942")) is None
