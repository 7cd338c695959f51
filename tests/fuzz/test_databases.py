"""Thousands of damaged databases: each gives one clear error or the numbers of plain SQL, within a time limit."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from fuzz import damage, seeds, verdict
from rocm_perf_lab.errors import RocmPerfError, TraceError
from rocm_perf_lab.profiling.pipeline import analyse

CASES, MORE_CASES = 450, 6000  # of each kind


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> list[Path]:
    return seeds.write_all(tmp_path_factory.mktemp("seeds"))


def attack(ways: list[damage.Damage], healthy: list[Path], folder: Path, numbers: range) -> Counter:
    """Verdicts on damaged copies with these `numbers`; the message names the one that fails, and `case(number)` makes it
    again."""
    verdicts: Counter = Counter()
    for number in numbers:
        path, story = case(number, ways, healthy, folder)
        try:
            verdicts[verdict.judge(path)] += 1
        except Exception as error:
            raise AssertionError(f"case {number}: {story}: {type(error).__name__}: {error}") from error
    return verdicts


def case(number: int, ways: list[damage.Damage], healthy: list[Path], folder: Path) -> tuple[Path, str]:
    rng = random.Random(number)
    seed, path = rng.choice(healthy), folder / "damaged.db"
    shutil.copy(seed, path)
    way = rng.choice(ways)
    way(rng, path)
    return path, f"{way.__name__} on {seed.name}"


def test_the_seeds_are_healthy(healthy):
    assert [verdict.judge(path) for path in healthy] == ["equal"] * len(healthy)


def test_damaged_bytes(healthy, tmp_path):
    verdicts = attack(damage.OF_BYTES, healthy, tmp_path, range(CASES))
    assert verdicts["error"] > CASES / 3, verdicts


def test_wrong_contents(healthy, tmp_path):
    verdicts = attack(damage.OF_CONTENTS, healthy, tmp_path, range(CASES))
    assert min(verdicts["error"], verdicts["equal"]) > CASES / 10, verdicts


@pytest.mark.parametrize("number", [1001016, 1003387, 1004376])
def test_contents_that_were_once_misread(number, healthy, tmp_path):
    """A stream with a negative id; nameless kernels that others waited for."""
    attack(damage.OF_CONTENTS, healthy, tmp_path, range(number, number + 1))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("ways", [damage.OF_BYTES, damage.OF_CONTENTS], ids=["bytes", "contents"])
def test_many_more(ways, part, healthy, tmp_path):
    size = MORE_CASES // 10
    attack(ways, healthy, tmp_path, range(1_000_000 + part * size, 1_000_000 + (part + 1) * size))


# ---- the surroundings of the file ----


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "damaged.db")
    assert verdict.judge(tmp_path / "damaged.db") == "error"


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "/proc/self/mem", "/"])
def test_a_path_that_is_not_a_file_is_an_error(name):
    with pytest.raises(TraceError), verdict.watchdog():
        analyse(Path(name))


def test_a_lock_is_not_waited_for(healthy, tmp_path):
    """Nobody writes to a finished trace, so a lock that was left on it means nothing."""
    path = Path(shutil.copy(healthy[1], tmp_path / "damaged.db"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert verdict.judge(path) == "equal"
    finally:
        holder.close()


def test_a_write_ahead_log_is_read_and_not_changed(healthy, tmp_path):
    """Its writer was killed, so the last commits are only in the log."""
    path = Path(shutil.copy(healthy[1], tmp_path / "damaged.db"))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute('UPDATE rocpd_kernel_dispatch SET "end" = "end" + 1000')
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("damaged.db*"):
        shutil.copy(file, killed)
    writer.close()
    before = {file.name: file.read_bytes() for file in killed.iterdir()}
    assert (analyse(killed / "damaged.db").profile.runtime_ms - analyse(healthy[1]).profile.runtime_ms) * 1e6 == pytest.approx(
        16_000
    )
    assert {file.name: file.read_bytes() for file in killed.iterdir()} == before


@pytest.mark.parametrize("journal", [b"hot", b"\0" * 600, bytes.fromhex("d9d505f920a163d7") + b"\xff" * 2000])
def test_a_journal_with_any_content_is_not_changed(journal, healthy, tmp_path):
    path = Path(shutil.copy(healthy[1], tmp_path / "damaged.db"))
    path.with_name("damaged.db-journal").write_bytes(journal)
    before = path.read_bytes()
    with contextlib.suppress(RocmPerfError), verdict.watchdog():
        analyse(path)
    assert path.read_bytes() == before and path.with_name("damaged.db-journal").read_bytes() == journal


def test_megabytes_of_text_are_read_but_not_quoted(healthy, tmp_path):
    path = Path(shutil.copy(healthy[1], tmp_path / "damaged.db"))
    name = "k" * 8_000_000
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE rocpd_info_kernel_symbol SET kernel_name = ?1, display_name = ?1 WHERE id = 1", (name,))
        connection.execute("UPDATE rocpd_info_process SET command = ?", (name,))
    assert verdict.judge(path) == "equal"
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM rocpd_kernel_dispatch")
    assert verdict.judge(path) == "error"
