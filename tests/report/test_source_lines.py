"""The lines of source files that are shown around those with code."""

from __future__ import annotations

import os

import pytest

from rocm_perf_lab.report.source_lines import _common_folder, _excerpts, _name, _printable, _ranges, source_files


@pytest.mark.parametrize(
    "paths, common, names",
    [
        (["/p/src/a.hip", "/p/inc/b.h"], "/p", ["src/a.hip", "inc/b.h"]),
        (["/p/src/a.hip", "/usr/include/c.h", "/opt/rocm/d.h"], "/p/src", ["a.hip", "/usr/include/c.h", "/opt/rocm/d.h"]),
        (["/p/a.hip", "b.h"], "/p", ["a.hip", "b.h"]),
        (["/usr/c.h"], "", ["/usr/c.h"]),
        ([], "", []),
    ],
)
def test_names_lack_the_folders_that_the_programs_own_files_have_in_common(paths, common, names):
    assert _common_folder(paths) == common and [_name(path, common) for path in paths] == names


@pytest.mark.parametrize(
    "numbers, ranges",
    [
        ([50], [[47, 53]]),
        ([1], [[1, 4]]),
        ([100], [[97, 100]]),
        ([0, 101, 50], [[47, 53]]),
        ([20, 32], [[17, 35]]),
        ([20, 33], [[17, 23], [30, 36]]),
        ([10, 11, 12], [[7, 15]]),
        ([], []),
    ],
)
def test_three_lines_are_shown_around_each_and_short_gaps_too(numbers, ranges):
    assert _ranges(numbers, 100) == ranges


def test_at_most_two_thousand_lines_of_a_file_are_shown():
    text = [f"{number}" for number in range(1, 3001)]

    def found(numbers):
        return [(one.first, len(one.text)) for one in _excerpts(text, numbers)]

    assert found([*range(4, 2000, 3)]) == [(1, 2000)]  # up to 3 lines after the last
    assert found([*range(4, 1990, 3), 2500, 2900]) == [(1, 1990), (2497, 7), (2897, 3)]
    assert found([*range(4, 1993, 3), 2500, 2900]) == [(1, 1993), (2497, 7)]
    assert found([*range(4, 2500, 3), 2900]) == [(1, 2000)]
    (one,) = _excerpts(text, [5])
    assert one.first == 2 and one.text == ["2", "3", "4", "5", "6", "7", "8"]


@pytest.mark.parametrize(
    "line, shown",
    [
        ("a\tb\r", "a   b"), ("\tb", "    b"), ("a\x1b[1m\r\r", "a\ufffd[1m\ufffd"), ("x" * 400, "x" * 400),
        ("x" * 401, "x" * 399 + "…"),
    ],
)  # fmt: skip
def test_a_line_is_printable_and_has_at_most_400_characters(line, shown):
    assert _printable(line) == shown


@pytest.mark.parametrize("size, is_read", [(4 << 20, True), ((4 << 20) + 1, False)])
def test_a_file_of_up_to_4_mib_is_read(tmp_path, size, is_read):
    (tmp_path / "a.hip").write_bytes(b"\n" * 9 + b"x" * (size - 9))
    (found,) = source_files({f"{tmp_path}/a.hip": [1]}, 1e12)
    assert (found.excerpts is not None) == is_read
    assert is_read or found.reasons == {"excerpts": "it is larger than 4 MiB"}


def test_a_file_that_is_as_old_as_the_run_is_shown(tmp_path):
    (tmp_path / "a.hip").write_text("one\ntwo")
    os.utime(tmp_path / "a.hip", (1000, 1000))
    (found,) = source_files({f"{tmp_path}/a.hip": [2, 2, 1]}, 1000.0)
    assert [(one.first, one.text) for one in found.excerpts] == [(1, ["one", "two"])]
    (found,) = source_files({f"{tmp_path}/a.hip": [1]}, 999.0)
    assert found.reasons == {"excerpts": "it was changed after the run"}
