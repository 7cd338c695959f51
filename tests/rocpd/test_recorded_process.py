"""Where a database comes from: its process, rank, GPUs and span, and which runs were on one machine."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import rocpd_database
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess, recorded_processes
from rocpd_database import Copy, Dispatch

WORK = [Dispatch("a", 100, 200), Copy(10, 900), Dispatch("b", 300, 450), Dispatch("c", 150, 160)]


@pytest.fixture
def recorded(tmp_path):
    """recorded(work, own, *statements) for a database that the SQL statements, each with its values, have changed."""

    def recorded(work=WORK, own=None, *statements) -> RecordedProcess:
        path = rocpd_database.write(tmp_path / f"{len([*tmp_path.glob('*.db')])}.db", work, own)
        with sqlite3.connect(path) as database:
            for text, *values in statements:
                database.execute(text, values)
        (found,) = recorded_processes(path)
        return found

    return recorded


def test_the_process_and_the_span_of_its_dispatches(recorded):
    found = recorded()
    assert (found.host, found.pid, found.command, found.rank, found.suffix) == ("host", 7, "./app", None, None)
    assert (found.span, found.has_counters, found.gpus, found.label) == ((100, 450), False, frozenset(), str(found.path))
    assert recorded([Copy(10, 900)]).span is None
    assert recorded(WORK, None, ("UPDATE rocpd_kernel_dispatch SET start = 'x'",)).span is None


def test_the_span_is_that_of_the_first_and_last_thousand_dispatches(recorded):
    work = [Dispatch("a", 10 * n, 10 * n + 5) for n in range(1, 2102)]
    assert recorded(work).span == (10, 21_015)
    assert recorded([*work[:1000], Dispatch("a", 1, 99_999), *work[1000:]]).span == (10, 21_015)
    assert recorded([*work[:999], Dispatch("a", 1, 5), *work[999:]]).span == (1, 21_015)
    assert recorded([*work[:1102], Dispatch("a", 11_000, 99_999), *work[1102:]]).span == (10, 99_999)


@pytest.mark.parametrize("own, is_slowed", [(None, True), ({"timing": "modelled"}, False), ({"timing": "measured"}, True)])
def test_counters_lengthen_times_unless_these_are_modelled(recorded, own, is_slowed):
    assert recorded([Dispatch("a", 1, 2, counters={"A": [1.0]})], own).has_counters == is_slowed
    assert not recorded(WORK, own).has_counters


@pytest.mark.parametrize(
    "environment, rank",
    [
        ({"RANK": "3"}, 3),
        ({"RANK": "3", "OMPI_COMM_WORLD_RANK": "5"}, 5),
        ({"SLURM_PROCID": "0", "PMI_RANK": "x"}, 0),
        ({"RANK": "-1"}, None),
        ({"RANK": "1234567890"}, None),
        ({"RANK": 12}, 12),
        ({}, None),
        ("not JSON", None),
    ],
)
def test_the_rank_comes_from_the_launcher(recorded, environment, rank):
    text = environment if isinstance(environment, str) else json.dumps(environment)
    add = ("ALTER TABLE rocpd_info_process ADD COLUMN environment TEXT",)
    assert recorded(WORK, None, add, ("UPDATE rocpd_info_process SET environment = ?", text)).rank == rank


@pytest.mark.parametrize(
    "uuid, known",
    [
        ({"bytes": {"value0": 1, "value1": 2}}, frozenset({"[1, 2]"})),
        ({"bytes": {"value0": 0, "value1": 0}}, frozenset()),
        ({"bytes": [1, 2]}, frozenset()),
        (7, frozenset()),
        (None, frozenset()),
    ],
)
def test_gpus_are_known_by_their_unique_ids(recorded, uuid, known):
    assert recorded(WORK, None, ("UPDATE rocpd_info_agent SET extdata = ?", json.dumps({"uuid": uuid}))).gpus == known
    of_cpu = ("UPDATE rocpd_info_agent SET extdata = ?, type = 'CPU'", json.dumps({"uuid": uuid}))
    assert recorded(WORK, None, of_cpu).gpus == frozenset()


def test_a_converted_trace_is_identified_by_its_original_file(recorded):
    found = recorded(WORK, {"imported_from": "prof.csv"})
    assert (found.imported_from, found.label) == ("prof.csv", "prof.csv")


def test_a_database_without_a_process(recorded):
    found = recorded(WORK, None, ("DELETE FROM rocpd_info_process",))
    assert (found.host, found.pid, found.command, found.span, found.has_counters) == ("", 0, "", None, False)


def of(host="node", gpus=(), span=(100, 200)) -> RecordedProcess:
    return RecordedProcess(Path("t.db"), None, host, 1, "", None, span, False, frozenset(gpus))


@pytest.mark.parametrize(
    "one, other, is_same",
    [
        (of(), of(), True),
        (of("a"), of("b"), False),
        (of("a", "xy"), of("b", "yz"), True),
        (of("a", "x"), of("b", "y"), False),
        (of("0123456789ab"), of("ba9876543210"), True),
        (of("0123456789ab", "x"), of("ba9876543210"), True),
        (of("0123456789ab", "x"), of("ba9876543210", "y"), False),
        (of("0123456789ab"), of("node"), False),
        (of("0123456789abc"), of("ba9876543210"), False),
    ],
)
def test_runs_on_one_machine(one, other, is_same):
    assert one.is_on_machine_of(other) == other.is_on_machine_of(one) == is_same
    assert one.overlaps(other) == is_same


@pytest.mark.parametrize(
    "span, overlaps",
    [((200, 300), False), ((199, 300), True), ((0, 100), False), ((0, 101), True), ((120, 130), True), (None, False)],
)
def test_runs_at_the_same_time(span, overlaps):
    assert of().overlaps(of(span=span)) == of(span=span).overlaps(of()) == overlaps


def test_the_path_of_a_recorded_process_can_be_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert of().absolute() == replace(of(), path=tmp_path / "t.db")
