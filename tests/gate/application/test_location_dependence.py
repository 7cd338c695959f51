"""Code that depends on its file name or line is found by compiling it in other places."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_perf_lab.gate.application.location_dependence import depends_on_location
from rocm_perf_lab.gate.code_object.translation_units import program_difference
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.optimize.builders import SourceBuilder

pytestmark = pytest.mark.usefixtures("hipcc")
BODY = "out[LANE] = n;"
# It needs only this much of HIP, and the real header takes most of the compile time.
HEADER = """\
extern "C" {
typedef enum { hipSuccess } hipError_t;
struct dim3 { unsigned x, y, z; };
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
unsigned __hipPopCallConfiguration(dim3*, dim3*, unsigned long*, void**);
}
#define __global__ __attribute__((global))
#define LANE __builtin_amdgcn_workitem_id_x()
"""
SOURCE = """\
#include "needed_of_hip.h"
#define NAME sizeof(__FILE__)
#define LINE __LINE__
constexpr int letters(const char* in = __builtin_FILE()) { return *in ? 1 + letters(in + 1) : 0; }
__global__ void other(int* out) { out[0] = __LINE__; }
__global__ void target(int* out, int n) { %s }
int main() {}
"""
COMMAND = ("hipcc", "-O3", "-nogpuinc", "--offload-arch=gfx942", "x.hip", "-o", "x")


def source(folder: Path, body: str, text: str = SOURCE, command: Sequence[str] = COMMAND) -> HipSource:
    (folder / "needed_of_hip.h").write_text(HEADER)
    (folder / "x.hip").write_text(text % body)
    return read(folder / "x.hip", command, folder)


def complaint(folder: Path, body: str, baseline: str = BODY, given: str | None = None) -> str | None:
    before, judged = source(folder, baseline), source(folder, body)
    return depends_on_location(before, judged, (given or judged.text.decode()).encode(), judged.text, SourceBuilder("gfx942"))


@pytest.mark.parametrize(
    "body",
    [
        "out[LANE] = NAME < 7 ? n : n + 1;",  # short only because of the name in the command
        "out[LANE] = NAME < 1000 ? n : LINE == 6 ? n : n + 1; out[1] = LINE;",
        "out[LANE] = letters() > 5 ? n : n + 1;",
        "auto f = [](auto x) { return sizeof(__PRETTY_FUNCTION__); }; out[LANE] = n + f([] {});",
    ],
)
def test_code_that_depends_on_its_place_is_named(tmp_path, body):
    assert "depends on the name of its file or on its line" in complaint(tmp_path, body)


def test_code_that_does_not_depend_on_its_place_is_not_named(tmp_path):
    """The other kernel's code does depend on it, as in the baseline."""
    assert complaint(tmp_path, "out[LANE] = n * 2;") is None
    assert complaint(tmp_path, "out[LANE] = n * 2 + LINE;", "out[LANE] = LINE;") is None


def test_lines_that_the_candidate_adds_elsewhere_count(tmp_path):
    """The text is written for the line that it has in its own file."""
    body = "out[LANE] = n + (__LINE__ == 8);"
    given = (SOURCE % body).replace("int main", "// told\nint main").replace("#define NAME", "\n\n#define NAME")
    assert given.splitlines()[7].endswith(f"{{ {body} }}")
    assert "_Z6targetPii" in complaint(tmp_path, body, given=given)


def test_a_program_that_was_built_from_another_text_differs(tmp_path):
    judged, builder = source(tmp_path, BODY), SourceBuilder("gfx942")
    subprocess.run([*COMMAND, "-gline-tables-only"], cwd=tmp_path, check=True)
    assert program_difference(tmp_path / "x", judged, builder) is None
    source(tmp_path, "out[LANE] = n + 1;")
    subprocess.run(COMMAND, cwd=tmp_path, check=True)
    assert "not the code that was judged" in program_difference(tmp_path / "x", judged, builder)


def test_an_assertion_names_its_file_in_the_program_as_in_the_command(tmp_path):
    asserted = SOURCE.replace('"needed_of_hip.h"', "<hip/hip_runtime.h>\n#include <cassert>\n#define LANE threadIdx.x")
    command = [word for word in COMMAND if word != "-nogpuinc"]
    judged = source(tmp_path, "assert(n > 0); " + BODY, asserted, command)
    subprocess.run(command, cwd=tmp_path, check=True)
    assert program_difference(tmp_path / "x", judged, SourceBuilder("gfx942")) is None
