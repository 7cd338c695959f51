"""The program kept from an accepted candidate is the one that was judged, even where other code uses its line numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate_judge import judging_kernels
from rocm_perf_lab.gate.change import KernelChange, splice
from rocm_perf_lab.gate.code_object.translation_units import makes_judged_code
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.tokens import compiled_line_of
from rocm_perf_lab.optimize.builders import SourceBuilder
from slow_variants import every

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-O2", "-g", "-nogpuinc", "--offload-arch=gfx942")
LOOP = "  for (int i = 0; i < width; ++i) {"
UNROLLED = "#pragma unroll 2\n" + LOOP
PROGRAM = Path(__file__).parents[1].joinpath("program.hip").read_text()
IN_HOST = PROGRAM + "int where() { return __LINE__; }\n"
IN_KERNEL = PROGRAM + "__global__ void other(int* x) { x[0] = __builtin_LINE(); }\n"
IN_BODY = PROGRAM.replace("first[row] = found;", "first[row] = found + __LINE__ - __LINE__;")


def judged(folder: Path, text: str, *changes: tuple[str, str]):
    """Baseline and verdict for a change."""
    source, candidate = folder / "program.hip", text
    source.write_text(text)
    for old, new in changes:
        candidate = candidate.replace(old, new, 1)
    with judging_kernels(source, COMMAND, folder) as judge:
        return read(source, COMMAND), judge("rows", candidate)


@pytest.mark.parametrize("text", every(2, [IN_HOST, IN_KERNEL]))
def test_other_code_keeps_its_line_numbers(tmp_path, native_dir, text):
    baseline, verdict = judged(tmp_path, text, (LOOP, UNROLLED))
    assert verdict.accepted, verdict.rejection
    kept, builder = verdict.adopted.decode(), SourceBuilder("gfx942")
    assert UNROLLED in kept and "\n#line " in kept and "(__LINE__, assert)" in verdict.steps[0].reason
    plain = re.sub(r"^#line .*\n", "", kept, flags=re.MULTILINE)
    assert plain == text.replace(LOOP, UNROLLED)
    with_plain, with_kept = (baseline.with_text(one.encode()) for one in (plain, kept))
    assert not makes_judged_code(with_plain, with_kept, baseline, builder)
    # The kept program is the next baseline.
    kernel = with_kept.kernel("rows")
    span, body = kernel.span, kernel.body
    change = KernelChange(
        "rows", with_kept.text[span.start : body.start], b"{\n\n\n" + with_kept.text[body.start + 1 : body.end]
    )
    again = splice(with_kept, kernel, change, "unused")
    same = with_kept.with_text(again.judged), with_kept.with_text(again.without_line_directives)
    for one, other in ((same[0], with_kept), (same[1], same[0])):
        assert makes_judged_code(one, other, with_kept, builder)


@pytest.mark.parametrize(
    "text, changes",
    every(
        3,
        [
            (IN_HOST, [("  float sum = 0;\n  int found = -1;\n", "  float sum = 0; int found = -1;\n"), (LOOP, UNROLLED)]),
            (PROGRAM, [(LOOP, UNROLLED)]),
            (IN_BODY, [(LOOP, UNROLLED)]),
        ],
    ),
    ids=["as many lines", "no use", "in the kernel alone"],
)
def test_no_line_directive_is_kept_where_none_is_needed(tmp_path, native_dir, text, changes):
    _, verdict = judged(tmp_path, text, *changes)
    assert verdict.accepted, verdict.rejection
    expected = text
    for change in changes:
        expected = expected.replace(*change)
    assert verdict.adopted.decode() == expected and verdict.steps[0].reason == "the new body of rows is taken"


def test_line_numbers_are_those_of_the_compiler():
    text = b'A\nB\n  # line 40 "x"\nC\nD\n#line 7\nE'
    assert [compiled_line_of(text, text.index(word)) for word in (b"A", b"B", b"C", b"D", b"E")] == [1, 2, 40, 41, 7]
