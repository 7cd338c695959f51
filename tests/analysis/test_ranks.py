"""Identifies each of several databases by where and when it was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.analysis import ranks as module
from rocm_perf_lab.analysis.ranks import Rank, ranks
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess


def run(
    name: str, rank: int | None = None, span=(0, 10), host: str = "node", counted: bool = False, command: str = "./app"
) -> RecordedProcess:
    return RecordedProcess(Path(name), None, host, 1, command, rank, span, counted)


@pytest.fixture(autouse=True)
def builds(monkeypatch):
    """Runs whose names begin with different letters are from different builds; a number other than 0 means a different
    input."""

    def other_build(one: RecordedProcess, other: RecordedProcess) -> str | None:
        return None if one.path.name[0] == other.path.name[0] else "they have other kernels"

    def difference(one: RecordedProcess, other: RecordedProcess) -> str | None:
        return other_build(one, other) or (None if one.path.name[-1] == other.path.name[-1] else "they have other grids")

    monkeypatch.setattr(module, "other_build", other_build)
    monkeypatch.setattr(module, "difference", difference)


def told(*processes: RecordedProcess) -> list[tuple[str, list[str], list[str]]]:
    found, _ = ranks(processes)
    return [
        (one.base.path.name, [run.path.name for run in one.repeats], [run.path.name for run in one.counters]) for one in found
    ]


LATER, LATEST = (20, 30), (40, 50)


@pytest.mark.parametrize(
    "processes, found",
    [
        # The launcher's rank numbers decide, whatever the times.
        ([run("a0", 1), run("b0", 0, LATER)], [("b0", [], []), ("a0", [], [])]),
        ([run("a0", 0), run("a1_0", 0), run("a2_0", 1)], [("a0", ["a1_0"], []), ("a2_0", [], [])]),
        # Without rank numbers, runs at the same time are ranks, and later ones are repeats.
        ([run("a0"), run("a1_0", None, (5, 12))], [("a0", [], []), ("a1_0", [], [])]),
        ([run("a0"), run("a1_0", None, LATER), run("a2_0", None, LATEST)], [("a0", ["a1_0", "a2_0"], [])]),
        ([run("a0"), run("a1_0", None, LATER, host="other")], [("a0", [], []), ("a1_0", [], [])]),
        ([run("a0", 0), run("a1_0", None, (5, 12))], [("a0", [], []), ("a1_0", [], [])]),
        # Counter passes belong to the rank with their number, or to the first that ran the same and has no pass from that time.
        ([run("c0", 1, counted=True), run("c0", 0), run("c1_0", 1)], [("c0", [], []), ("c1_0", [], ["c0"])]),
        ([run("a0"), run("ap1", None, LATER, counted=True)], [("a0", [], ["ap1"])]),
        (
            [
                run("a0"), run("a1_0", None, (5, 12)), run("ap1", None, LATER, counted=True),
                run("aq1", None, (25, 35), counted=True),
            ],
            [("a0", [], ["ap1"]), ("a1_0", [], ["aq1"])],
        ),
        (
            [run("a0"), run("ap1", None, LATER, counted=True), run("aq1", None, LATEST, counted=True)],
            [("a0", [], ["ap1", "aq1"])],
        ),
    ],
)  # fmt: skip
def test_ranks_repeats_and_passes(processes, found):
    assert told(*processes) == found


def test_without_a_run_free_of_counters_a_pass_provides_the_times():
    found, notes = ranks([run("a0", counted=True), run("a1_0", None, LATER, counted=True)])
    assert [(one.base.path.name, len(one.counters)) for one in found] == [("a0", 1)]
    assert notes == ["a0 was collected with counters, and there is no run without them: its times are those of a profiled run"]
    assert ranks([run("a0")])[1] == []


@pytest.mark.parametrize(
    "one, other, why",
    [
        (run("a0"), run("b0", None, LATER), "they have other kernels"),
        (run("a0"), run("a1", None, LATER), "they have other grids"),
        (run("a0"), run("a1_0", None, LATER, command="./b"), "one is of ./app, the other of ./b"),
        (run("a0", 1), run("b0", 1, LATER), "they have other kernels"),
        (run("a0", 1), run("a1", 1), "they have other grids"),
        (run("a0"), run("b0", None, LATER, host="other"), "they have other kernels"),
    ],
)
def test_what_is_neither_a_rank_nor_a_repeat_is_refused(one, other, why):
    with pytest.raises(UsageError) as error:
        ranks([one, other])
    assert error.value.problem == f"{one.path} and {other.path} are neither repeats nor ranks of one run: {why}"


def test_a_run_at_the_same_time_as_a_repeat_is_refused():
    with pytest.raises(UsageError, match="both are the same rank, on different machines or at the same time"):
        ranks([run("a0"), run("a1_0", None, LATER), run("a2_0", None, (25, 35))])


def test_runs_of_one_build_on_several_machines_or_without_times_are_ranks():
    assert len(told(run("a0"), run("a1", None, LATER, host="other"))) == 2
    assert len(told(run("a0"), run("a1", None, None))) == 2
    assert len(told(run("a0"), run("b0", None, (5, 12)))) == 2  # at the same time


def test_paths_of_a_rank_can_be_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Rank(run("a0", 4), [run("a1")], [run("a2"), run("a3")]).absolute()
    assert found.number == 4
    assert [one.path for one in (found.base, *found.repeats, *found.counters)] == [tmp_path / f"a{n}" for n in range(4)]
