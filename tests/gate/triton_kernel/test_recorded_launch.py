"""What a candidate reports about its launch is checked, and its launch is placed on the baseline's memory."""

from __future__ import annotations

import os

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.triton_kernel.recorded_launch import (
    ArgumentWord,
    RecordedArgument,
    RecordedBuffer,
    RecordedLaunch,
    copy_untrusted_file,
    on_memory_of,
    read_launch,
)

CODE, X, Y = "c" * 64, "1" * 64, "2" * 64
MEMORY = {"names": ["x"], "size": 16, "shift": 0, "contents": X}
LAUNCH = {
    "name": "k",
    "code": CODE,
    "grid": [3, 1, 1],
    "threads": 64,
    "shared": 0,
    "scratch_bytes": [],
    "arguments": [{"name": "x", "words": [{"memory": 0, "offset": 16}]}, {"name": "n", "words": [{"bits": 7}]}],
    "buffers": [MEMORY],
}


@pytest.fixture
def read(tmp_path):
    """read(with_contents, description) for a script that has written all of its files -> (launch, names of the files taken)."""
    source, files = tmp_path / "source", tmp_path / "files"
    for folder in (source, files):
        folder.mkdir()
    for name in (CODE, X):
        (source / name).write_text(name[0])

    def do(with_contents=True, **changed):
        launch = read_launch({**LAUNCH, **changed}, source, files, with_contents=with_contents)
        return launch, {file.name: file.read_text() for file in files.iterdir()}

    return do


def test_code_is_read_and_memory_contents_only_on_request(read):
    launch, taken = read(with_contents=False)
    assert launch.grid == [3, 1, 1] and launch.buffers[0].size == 16 and taken == {CODE: "c"}
    assert read()[1] == {CODE: "c", X: "1"}


@pytest.mark.parametrize(
    "changed",
    [
        {"threads": 1024, "shared": 163840, "grid": [(1 << 31) - 1, 0, 1], "scratch_bytes": [1 << 30, 0, 0, 0]},
        {"buffers": [{**MEMORY, "shift": 15, "size": 8 << 30}], "name": "k" * 4000},
        {"arguments": [{"name": "n", "words": [{"bits": (1 << 64) - 1}, {"bits": 0}]}]},
        {"arguments": [], "buffers": []},
        {"arguments": [{"name": "n" * 1000, "words": [{"bits": 1}] * 64}] * 1000, "buffers": [{**MEMORY, "size": 1}] * 1000},
        {"threads": 1, "scratch_bytes": [0]},
    ],
)
def test_a_launch_may_be_as_large_as_this(read, changed):
    assert isinstance(read(**changed)[0], RecordedLaunch)


@pytest.mark.parametrize(
    "changed",
    [
        {"threads": 1025},
        {"threads": 0},
        {"threads": "64"},
        {"shared": 163841},
        {"shared": -1},
        {"grid": [1, 1]},
        {"grid": [1, 1, 1, 1]},
        {"grid": [1 << 31, 1, 1]},
        {"grid": [-1, 1, 1]},
        {"scratch_bytes": [0] * 5},
        {"scratch_bytes": [(1 << 30) + 1]},
        {"scratch_bytes": [-1]},
        {"name": "k" * 4001},
        {"code": "../" + "c" * 61},
        {"code": "c" * 63},
        {"code": "C" * 64},
        {"also": 1},
        {"buffers": [{**MEMORY, "size": 0}], "arguments": []},
        {"buffers": [{**MEMORY, "size": (8 << 30) + 1}]},
        {"buffers": [{**MEMORY, "shift": 16}]},
        {"buffers": [{**MEMORY, "shift": -1}]},
        {"buffers": [{**MEMORY, "contents": "/etc/passwd"}]},
        {"buffers": [MEMORY] * 1001},
        {"arguments": [{"name": "x", "words": []}] * 1001},
        {"arguments": [{"name": "x" * 1001, "words": []}]},
        {"arguments": [{"name": "x", "words": [{"bits": 1}] * 65}]},
        *(
            {"arguments": [{"name": "x", "words": [word]}]}
            for word in (
                {},
                {"bits": 1 << 64},
                {"bits": -1},
                {"bits": 1, "memory": 0, "offset": 0},
                {"bits": 1, "offset": 0},
                {"memory": 0},
                {"offset": 0},
                {"memory": 1, "offset": 0},
                {"memory": 5, "offset": 0},
                {"memory": -1, "offset": 0},
                {"memory": 0, "offset": 17},
                {"memory": 0, "offset": -1},
            )
        ),
    ],
)
def test_any_other_description_is_refused(read, changed):
    with pytest.raises(SourceError, match="^its launch is not described as one: "):
        read(**changed)


def test_the_first_of_several_faults_is_reported(read):
    with pytest.raises(SourceError, match="greater than or equal to 1$"):
        read(threads=0, shared=163841)


def test_files_are_read_once_and_not_through_links(read, tmp_path):
    with pytest.raises(SourceError, match=r"names a file that cannot be read \(No such file or directory\)"):
        read(code="d" * 64)
    (tmp_path / "source" / ("e" * 64)).symlink_to(tmp_path / "source" / X)
    with pytest.raises(SourceError, match=r"names a file that cannot be read \(Too many levels of symbolic links\)"):
        read(code="e" * 64)
    read()
    (tmp_path / "source" / CODE).write_text("another")
    assert read()[1][CODE] == "c"
    os.mkfifo(tmp_path / "source" / ("f" * 64))
    assert read(code="f" * 64)[1]["f" * 64] == ""  # nothing writes to it, and nothing waits for it


def test_a_result_is_copied_under_the_name_for_results(tmp_path):
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    (tmp_path / "from" / X).write_text("left")
    assert copy_untrusted_file(tmp_path / "from", X, tmp_path / "to").read_text() == "left" and (tmp_path / "to" / X).exists()
    (tmp_path / "from" / "x").write_text("left")
    for name in ("x", f"./{X}", f"{X}\n"):
        with pytest.raises(SourceError, match="it names a file that is none of its results"):
            copy_untrusted_file(tmp_path / "from", name, tmp_path / "to")


def place(memory: int, offset: int = 0) -> ArgumentWord:
    return ArgumentWord(memory=memory, offset=offset)


def launch(buffers: dict[str, int], **arguments: list[ArgumentWord]) -> RecordedLaunch:
    """buffers: the size of each, keyed by the names that own it, separated by blanks."""
    made = [RecordedBuffer(names=names.split(), size=size, shift=0, contents=X) for names, size in buffers.items()]
    passed = [RecordedArgument(name=name, words=words) for name, words in arguments.items()]
    about = {"name": "k", "code": CODE, "grid": [1, 1, 1], "threads": 64, "shared": 0, "scratch_bytes": []}
    return RecordedLaunch(**about, arguments=passed, buffers=made)


BASELINE = launch({"x view": 16, "y": 32}, x=[place(0)], view=[place(0, 4)], y=[place(1)], n=[ArgumentWord(bits=7)])


def test_a_launch_is_placed_on_the_memory_of_the_same_names():
    mine = launch(
        {"y": 32, "x": 16}, y=[place(0)], x=[place(1)], n=[ArgumentWord(bits=9)], z=[place(1, 8), ArgumentWord(bits=1)]
    )
    placed = on_memory_of(mine, BASELINE)
    assert isinstance(placed, RecordedLaunch) and placed.buffers == BASELINE.buffers
    words = {one.name: one.words for one in placed.arguments}
    assert words == {"y": [place(1)], "x": [place(0)], "n": [ArgumentWord(bits=9)], "z": [place(0, 8), ArgumentWord(bits=1)]}


@pytest.mark.parametrize(
    "candidate, said",
    [
        (launch({"z w": 16}), "it is given z, w, which the baseline is not"),
        (launch({"": 16}), "it is given memory, which the baseline is not"),
        (launch({"x y": 16}), "it is given the same memory for x, y, but the baseline has several"),
        (launch({"x": 16, "y": 31}), "y has 31 bytes, but 32 in the baseline"),
        (launch({"x": 17}), "x has 17 bytes, but 16 in the baseline"),
        (launch({"x": 16, "view": 16}), "it is given separate memory for arguments that share one in the baseline"),
        (launch({"x": 16}, x=[place(0, 4)]), "x points to a different place in its array"),
        (launch({"x": 16, "y": 32}, x=[place(0)], y=[place(0)]), "y points to a different place in its array"),
        (launch({"x": 16}, n=[place(0)]), "n points to a different place in its array"),
    ],
)
def test_the_reason_why_a_launch_cannot_be_placed_is_given(candidate, said):
    assert on_memory_of(candidate, BASELINE) == said


def test_numbers_may_differ_where_pointers_do_not():
    mine = launch({"x": 16}, x=[place(0), ArgumentWord(bits=1)], view=[ArgumentWord(bits=2)])
    assert isinstance(on_memory_of(mine, BASELINE), RecordedLaunch)
