"""Cached results: stored results are found again, and other kinds of files are refused."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from rocm_perf_lab.autotune.cache import Cache, canonical, experiment_key
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, OK, EvaluationOutcome
from rocm_perf_lab.errors import MissingInputError, OutputError

OUTCOMES = [
    EvaluationOutcome(OK, None, [1.5, 2.0], "gpu", True, True, {"vgprs": 32}),
    EvaluationOutcome(FAILED, "bad \ud800 text"),
    EvaluationOutcome(OK, None, [1.0], "wall"),
]


def test_a_stored_outcome_is_found_under_the_same_values_of_the_same_experiment(tmp_path):
    path = tmp_path / "folder" / "cache.db"
    with contextlib.closing(Cache(path, "one")) as cache:
        for number, outcome in enumerate(OUTCOMES):
            cache.put({"a": number, "b": "x"}, outcome)
        assert cache.get({"a": 9, "b": "x"}) is None
        cache.put({"a": 0, "b": "x"}, OUTCOMES[2])
    with contextlib.closing(Cache(path, "one")) as cache:
        assert cache.get({"b": "x", "a": 0}) == cache.get({"a": 2, "b": "x"}) == OUTCOMES[2]
        found = cache.get({"a": 1, "b": "x"})
        assert (found.status, found.runs, found.measure) == (FAILED, [], None) and found.reason.startswith("bad ")
    with contextlib.closing(Cache(path, "other")) as cache:
        assert cache.get({"a": 0, "b": "x"}) is None


def test_every_field_of_an_outcome_is_kept(tmp_path):
    with contextlib.closing(Cache(tmp_path / "cache.db", "one")) as cache:
        cache.put({"a": 1}, OUTCOMES[0])
        assert cache.get({"a": 1}) == OUTCOMES[0]


def test_the_order_of_values_does_not_count():
    assert canonical({"b": 1, "a": "x"}) == canonical({"a": "x", "b": 1}) == '{"a": "x", "b": 1}'
    assert canonical({"a": 1}) != canonical({"a": "1"})


def test_a_file_that_is_not_a_cache_is_refused(tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to have a header of one")
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("CREATE TABLE mine (a)")
    for name, said in (
        ("text", "cannot be used"),
        ("other.db", "is a database of another kind"),
        ("text/below", "cannot be used"),
    ):
        with pytest.raises(OutputError, match=said):
            Cache(tmp_path / name, "one")


@pytest.mark.parametrize("text", ["{", "[1]", '{"status": 1, "runs": "x"}', "{}"])
def test_a_damaged_result_is_refused(tmp_path, text):
    with contextlib.closing(Cache(tmp_path / "cache.db", "one")) as cache:
        cache.put({"a": 1}, OUTCOMES[2])
        with sqlite3.connect(tmp_path / "cache.db") as database:
            database.execute("UPDATE outcome SET outcome = ?", (text,))
        with pytest.raises(OutputError, match="is damaged"):
            cache.get({"a": 1})


def test_a_key_changes_with_commands_device_and_contents(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")

    def key(commands=(("a", 1), ("b", 2)), device="gfx942", files=(one, two)):
        return experiment_key(dict(commands), device, files)

    first = key()
    assert key((("b", 2), ("a", 1))) == key(files=(two, one, two)) == first and len(first) == 64
    others = [key((("a", 1),)), key(device="gfx90a"), key(files=(one,)), key(files=())]
    two.write_text("3")
    assert len({first, key(), *others}) == 6
    with pytest.raises(MissingInputError, match="none cannot be read"):
        key(files=(tmp_path / "none",))
