"""Ranks on the workers of a Dask cluster: the same results as here, and only the documents are transferred."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys

import pytest

import needs
import rocpd_database
from rocm_perf_lab.__main__ import main
from rocm_perf_lab.analysis.ranks import Rank
from rocm_perf_lab.profiling import parallel_ranks
from rocm_perf_lab.profiling.parallel_ranks import AnalysisRequest, analyse_rank
from rocm_perf_lab.rocpd.recorded_process import recorded_processes
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE
from rocm_perf_lab.run_directory import TRACE_FOLDER
from rocpd_database import Dispatch

distributed = needs.module("distributed")


@pytest.fixture(scope="module")
def address():
    """The address of a scheduler with one worker in a separate process."""
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def analyze(monkeypatch, capsys, *arguments) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["rocm-perf", "analyze", *map(str, arguments)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit:
        main()
    return exit.value.code or 0, *capsys.readouterr()


def files(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_workers_of_a_cluster_give_the_same_as_local_processes(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("one.db", "two.db")):
        work = [Dispatch("k", 10 * n, 10 * n + 5 + number) for n in range(50)]
        rocpd_database.write(tmp_path / name, work)  # at the same time, so they are ranks
    monkeypatch.setattr(parallel_ranks, "SHORT_BYTES", 0)  # so that local runs use separate processes, too
    here, there = (analyze(monkeypatch, capsys, "one.db", "two.db", "-o", out, "--json", *options)
                   for out, options in (("here", []), ("there", ["--scheduler", address])))  # fmt: skip
    assert here[0] == there[0] == 0, there[2]
    results = [json.loads(out) for _, out, _ in (here, there)]
    assert [result.pop("run_directory") for result in results] == ["here", "there"]
    assert results[0] == results[1] and len(results[0]["ranks"]) == 2
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_an_error_in_a_rank_is_passed_on_unchanged(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rocpd_database.write(tmp_path / "one.db", [Dispatch("k", 0, 10)])
    rocpd_database.write(tmp_path / "two.db", [Dispatch("k", 0, 10), Dispatch("bad", 5, 20)])
    with sqlite3.connect(tmp_path / "two.db") as connection:
        connection.execute('UPDATE rocpd_kernel_dispatch SET "end" = 1 WHERE start = 5')
    code, out, err = analyze(monkeypatch, capsys, "one.db", "two.db", "--scheduler", address)
    assert (code, out) == (65, "") and "two.db is damaged (1 dispatches end before they start)" in err
    assert not list(tmp_path.glob("*.rocm-perf"))


def test_only_documents_are_transferred(tmp_path):
    """A trace ten times as long hardly adds to the transfer; the table of dispatches is written where the run directory is
    visible."""
    sizes = []
    for count in (100, 1000):
        path = rocpd_database.write(tmp_path / f"{count}.db", [Dispatch("k", 10 * n, 10 * n + 5) for n in range(count)])
        directory = tmp_path / f"run_{count}"
        (directory / TRACE_FOLDER).mkdir(parents=True)
        result = analyse_rank(
            Rank(*recorded_processes(path)), AnalysisRequest(WHOLE_TRACE, None, None, None), directory, "rank_0"
        )
        assert result.has_table and (directory / "rank_0" / "dispatches.parquet").exists()
        sizes.append(len(pickle.dumps(result)))
    assert sizes[1] < 1.1 * sizes[0] < 200_000
    assert not analyse_rank(
        Rank(*recorded_processes(path)), AnalysisRequest(WHOLE_TRACE, None, None, None), tmp_path / "elsewhere", "x"
    ).has_table
    assert not (tmp_path / "elsewhere").exists()
