"""Values that no clock and no dispatch can have are refused, and nothing else."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rocm_perf_lab.rocpd import validate

YEAR_NS = 366 * 24 * 3600 * 1_000_000_000


def rows(start: list[int], end: list[int]) -> None:
    validate.rows("dispatches", np.arange(len(start)), np.array(start), np.array(end))


def test_a_year_is_possible_and_more_is_not():
    rows([5, 6], [6, 5 + YEAR_NS])
    with pytest.raises(validate.ImpossibleContentsError, match="the dispatches span more than a year"):
        rows([5, 6], [6, 6 + YEAR_NS])


@pytest.mark.parametrize(
    ("start", "end", "why"), [([-1], [5], "have no times"), ([3, 4], [2, 3], "2 dispatches end before they start")]
)
def test_impossible_times_are_refused(start, end, why):
    rows([0], [0])
    with pytest.raises(validate.ImpossibleContentsError, match=why):
        rows(start, end)


def test_ids_are_unique():
    with pytest.raises(validate.ImpossibleContentsError, match="two dispatches have the same id"):
        validate.rows("dispatches", np.array([1, 1]), np.array([0, 0]), np.array([1, 1]))


INT32_MAX = 2**31 - 1


@pytest.mark.parametrize("values, is_size", [([0, INT32_MAX], True), ([INT32_MAX + 1], False), ([-1, 5], False), ([], True)])
def test_sizes_that_a_dispatch_can_have(values, is_size):
    good, column = np.array([[1, 2]]), np.array(values, np.int64)
    for columns in ((good, column), (column, good)):
        if is_size:
            validate.sizes("dispatches", *columns)
        else:
            with pytest.raises(validate.ImpossibleContentsError, match="some dispatches have an impossible size"):
                validate.sizes("dispatches", *columns)


def test_a_table_without_rows_and_an_end_equal_to_its_start_are_valid():
    rows([], [])
    rows([5], [5])
    with pytest.raises(validate.ImpossibleContentsError, match="have no times"):
        rows([5], [-1])


@pytest.mark.parametrize(
    "events, are_unique", [([3, 1, 2], True), ([-1, -1, 0], True), ([0, 1, 0], False), ([7, 7], False), ([], True)]
)
def test_an_event_has_one_dispatch(events, are_unique):
    column = np.array(events, np.int64)
    if are_unique:
        validate.unique_events(column)
    else:
        with pytest.raises(validate.ImpossibleContentsError, match="two dispatches have the same event"):
            validate.unique_events(column)


@pytest.mark.parametrize("value, text", [(None, ""), (b"a\xff", "a\ufffd"), ("a", "a"), (7, "7")])
def test_text(value, text):
    assert validate.text(value) == text


@pytest.mark.parametrize(
    "value, limits, number",
    [
        (None, (), 0), (0, (), 0), (INT32_MAX, (), INT32_MAX), (INT32_MAX + 1, (), None), (-1, (), None), (-1, (-1, 5), -1),
        (6, (-1, 5), None), (1.0, (), None), ("1", (), None),
    ],
)  # fmt: skip
def test_integers(value, limits, number):
    if number is not None:
        assert validate.integer(value, "it", *limits) == number
    else:
        with pytest.raises(validate.ImpossibleContentsError, match="it contains an impossible value"):
            validate.integer(value, "it", *limits)


@pytest.mark.parametrize(
    "value, is_finite", [(1, True), (-2.5, True), (float("inf"), False), (float("nan"), False), ("1", False), (None, False)]
)
def test_finite_numbers(value, is_finite):
    assert validate.finite(value) == is_finite


@pytest.mark.parametrize(
    "value, found", [('{"a": 1}', {"a": 1}), ("[1]", {}), ("{", {}), ("[" * 100_000, {}), (None, {}), (b"{}", {}), ("7", {})]
)
def test_objects_in_a_column(value, found):
    assert validate.json_object(value) == found


@pytest.mark.parametrize(
    "state, why",
    [
        ("row 3\n  missing from index", "row 3 missing from index"),
        ("*** in database main ***\nPage 2", "\\*\\*\\* in .* Page 2"),
    ],
)
def test_small_files_are_checked(tmp_path, state, why):
    (tmp_path / "t.db").write_bytes(b"x" * 100)
    asked = []

    def execute(text):
        asked.append(text)
        return types.SimpleNamespace(fetchone=lambda: (state,))

    with pytest.raises(validate.ImpossibleContentsError, match=f"^{why}$"):
        validate.intact(types.SimpleNamespace(execute=execute), tmp_path / "t.db")
    assert asked == ["PRAGMA integrity_check(1)"]
    validate.intact(types.SimpleNamespace(execute=lambda _: types.SimpleNamespace(fetchone=lambda: ("ok",))), tmp_path / "t.db")


@pytest.mark.parametrize("size, is_checked", [(64 << 20, True), ((64 << 20) + 1, False)])
def test_large_files_are_not_read_twice(size, is_checked):
    asked = []
    path = types.SimpleNamespace(stat=lambda: types.SimpleNamespace(st_size=size))
    connection = types.SimpleNamespace(
        execute=lambda text: asked.append(text) or types.SimpleNamespace(fetchone=lambda: ("ok",))
    )
    validate.intact(connection, path)
    assert bool(asked) == is_checked
