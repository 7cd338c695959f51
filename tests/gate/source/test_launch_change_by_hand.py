"""How a kernel's launches change, by hand: launches that are already parsed, and a candidate's tokens for some of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocm_perf_lab.gate.change import LaunchText
from rocm_perf_lab.gate.source import launch_change as changing
from rocm_perf_lab.gate.source.launch_change import LaunchRefusedError, launch_change
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.integer_expression import INT, UNSIGNED, UNSIGNED_LONG, Constant, LaunchArgument, converted
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, Shape, ShapedLaunch

OWN, OTHER, THIRD_FILE = Path("/sources/kernels.h"), Path("/sources/main.hip"), Path("/sources/app.hip")
TEXT = b"k<<<n, 64>>>(n);\nk<<<n,\n64>>>(n);\n"  # shapes in bytes 4 to 9 and 21 to 26
OF_OTHER = b"// a\nk<<<n, 64>>>(n);\n"  # in bytes 9 to 14
N, M = LaunchArgument(0, INT, INT, "n"), LaunchArgument(1, INT, INT, "m")
ONE = Constant(1, UNSIGNED)


def shape(size: int) -> Shape:
    """`<<<n, size>>>`."""
    return Shape((converted(N, UNSIGNED), ONE, ONE), (Constant(size, UNSIGNED), ONE, ONE), Constant(0, UNSIGNED_LONG))


def launch(file: Path, line: int, start: int, end: int) -> ShapedLaunch:
    return ShapedLaunch(
        file, line, start, end, False, (), shape(64), {"n": N, "m": M}, frozenset(), {"BLOCK": Constant(64, INT)}
    )


FIRST, SECOND, THIRD = launch(OWN, 1, 4, 9), launch(OWN, 2, 21, 26), launch(OTHER, 2, 9, 14)
KERNEL = SimpleNamespace(name="app::k")


def text(of: ShapedLaunch, tokens: str) -> LaunchText:
    return LaunchText(of.start, of.end, of.line, tuple(tokens.split()), None if of.file == OWN else of.file)


@pytest.fixture
def changed(monkeypatch):
    """changed(launches, texts): the changed launches."""

    def change(sites, *texts):
        monkeypatch.setattr(changing, "program_launches", lambda *_: sites)
        return launch_change(BASELINE, KERNEL, texts)

    return change


BASELINE = HipSource(OWN, ("hipcc",), OWN.parent, TEXT, other_files={OTHER: OF_OTHER, THIRD_FILE: OF_OTHER})


def test_all_launches_change_and_no_line_moves(changed):
    elsewhere = replace(THIRD, file=THIRD_FILE)
    found = changed([elsewhere, FIRST, SECOND, THIRD], *(text(one, "n , 128") for one in (FIRST, SECOND, THIRD, elsewhere)))
    assert (found.before, found.after) == (shape(64), shape(128)) and str(found) == "<<<n, 64>>> becomes <<<n, 128>>>"
    assert (found.lines, found.files) == ((1, 2), ("app.hip", "main.hip"))
    applied = found.applied_to(BASELINE)
    assert applied.text == b"k<<<n, 128>>>(n);\nk<<<n, 128\n>>>(n);\n"
    assert applied.other_files == dict.fromkeys((OTHER, THIRD_FILE), b"// a\nk<<<n, 128>>>(n);\n")


def test_a_launch_that_keeps_its_meaning_need_not_be_written_again(changed):
    found = changed([FIRST, SECOND], text(SECOND, "n , ( BLOCK )"))
    assert found.before == found.after == shape(64) and (found.lines, found.files) == ((1, 2), ())
    assert found.applied_to(BASELINE).text == TEXT.replace(b"n,\n64", b"n, 64\n") and not found.edits_elsewhere


@pytest.mark.parametrize(
    "sites, said",
    [
        ((FIRST, SECOND), "lines 1, 2"),
        ((FIRST, THIRD), "lines 1 and line 2 of main.hip"),
        ((FIRST, SECOND, THIRD), "lines 1, 2 and line 2 of main.hip"),
        ((THIRD, replace(THIRD, line=9, start=90)), "line 2 of main.hip and line 9 of main.hip"),
        ((replace(THIRD, file=THIRD_FILE), FIRST), "lines 1 and line 2 of app.hip"),
    ],
)
def test_launches_that_change_differently_are_named_by_line(changed, sites, said):
    with pytest.raises(LaunchRefusedError) as refused:
        changed(sites, text(sites[0], "n , 128"))
    assert str(refused.value) == f"the launches of app::k in {said} would differ from each other: change all of them alike"
    unlike = [*sites[:-1], replace(sites[-1], shape=shape(32))]
    with pytest.raises(LaunchRefusedError, match="differ from each other already: change all of them alike"):
        changed(unlike, *(text(one, "n , 128") for one in unlike))


@pytest.mark.parametrize("of, where", [(FIRST, "in line 1"), (THIRD, "in line 2 of main.hip")])
def test_the_place_of_a_text_that_is_not_adopted_is_named(changed, of, where):
    with pytest.raises(LaunchRefusedError) as refused:
        changed([of], text(of, "k , 64"))
    assert str(refused.value).startswith(f"its launch {where} has a shape with `k`")
    moving = replace(of, changing=frozenset({"n", "m"}))
    with pytest.raises(LaunchRefusedError) as refused:
        changed([moving], text(of, "n , 64 * m"))
    said = "uses m, which a call or an assignment in the same launch may change: make it const"
    assert str(refused.value) == f"its launch {where} {said}"
    assert changed([moving], text(of, "8 , 64")).after.groups[0] == Constant(8, UNSIGNED)
    elsewhere = replace(text(of, "n , 64"), start=of.start - 1)
    with pytest.raises(LaunchRefusedError) as refused:
        changed([of], elsewhere)
    assert str(refused.value) == f"it changes the launch of something other than app::k {where}"


def test_launches_that_are_not_understood_are_refused(changed, monkeypatch):
    def fails(*_):
        raise LaunchNotUnderstoodError("the launch in line 1 is made by a macro")

    monkeypatch.setattr(changing, "program_launches", fails)
    with pytest.raises(LaunchRefusedError, match="^the launch in line 1 is made by a macro: its launches cannot be changed$"):
        launch_change(BASELINE, KERNEL, ())
