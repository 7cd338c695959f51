"""Every recorded database, fully analysed: totals equal those of plain SQL on the base tables, and nothing on disk changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections import defaultdict
from pathlib import Path

import networkx
import numpy as np
import pytest

from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.rocpd.reader import read_trace

_SHARED = Path(os.environ.get("RPL_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "data"
RECORDINGS = sorted(str(path.relative_to(_SHARED)) for path in _SHARED.rglob("*.db")) or ["(no recordings)"]
BROKEN = "rocprofv3/ms_marker_quote/q_results.db"
WITHOUT_CLOCK = "rocprofv3/v_nocounterclock/v_results.db"

every_recording = pytest.mark.parametrize("name", [name for name in RECORDINGS if name != BROKEN])


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    files = [path for path in folder.iterdir() if path.is_file()]
    return {path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files}


class Sql:
    """Runs queries in which {name} stands for the table rocpd_name with its suffix; no view is used."""

    def __init__(self, path: Path):
        self.connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        (suffix,) = self.connection.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()
        self.suffix = suffix

    def __call__(self, query: str) -> list[tuple]:
        tables = defaultdict(str)
        for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            tables[name.removeprefix("rocpd_").removesuffix(self.suffix)] = f'"{name}"'
        return self.connection.execute(query.format_map(tables)).fetchall()


OF_KERNELS = """SELECT REPLACE(s.display_name, '.kd', ''), COUNT(*), SUM(d."end" - d.start) FROM {kernel_dispatch} d
                JOIN {info_kernel_symbol} s ON s.id = d.kernel_id GROUP BY s.kernel_name"""
RUNTIME_KERNELS = "__amd_rocclr_"


@pytest.fixture
def recording(shared_data, name) -> Path:
    return shared_data / name


# Outermost calls that wait for the GPU or that launched something.
OF_CALLS = """SELECT n.string, COUNT(*), SUM(r."end" - r.start) FROM {region} r JOIN {string} n ON n.id = r.name_id
              WHERE n.string IN ('hipDeviceSynchronize', 'hipStreamSynchronize', 'hipEventSynchronize', 'hipFree')
              OR r.id IN (SELECT stack_id FROM {event} WHERE id IN
                          (SELECT event_id FROM {kernel_dispatch} UNION SELECT event_id FROM {memory_copy}))
              GROUP BY n.string"""
OF_HSA_CALLS = "rocprofv3/msr_systrace/msr_results.db"  # launches are those of HSA calls within HIP's


@every_recording
def test_totals_equal_those_of_plain_sql(recording):
    before = fingerprint(recording.parent)
    documents, sql = analyse(recording), Sql(recording)
    assert fingerprint(recording.parent) == before
    expected = {name: (count, total) for name, count, total in sql(OF_KERNELS)}
    has_times = any(total for _, total in expected.values())
    found = {kernel.kernel: (kernel.dispatches, kernel.time_ms) for kernel in documents.analysis.kernels}
    assert found == {name: (count, total / 1e6 if has_times else None) for name, (count, total) in expected.items()}
    own = sum(total for name, (_, total) in expected.items() if not name.startswith(RUNTIME_KERNELS))
    assert documents.profile.runtime_ms == (own / 1e6 if has_times else None)
    ((dispatches, copies),) = sql("SELECT (SELECT COUNT(*) FROM {kernel_dispatch}), (SELECT COUNT(*) FROM {memory_copy})")
    assert documents.dag.nodes >= dispatches + copies == len(documents.dispatches)
    ((span,),) = sql(
        """SELECT MAX("end") - MIN(start) FROM (SELECT start, "end" FROM {kernel_dispatch}
           UNION ALL SELECT start, "end" FROM {memory_copy})"""
    )
    assert documents.dag.critical_path_ns == (span if has_times else None)
    assert documents.profile.timing == "measured" and documents.dag.dependencies == "inferred"


@every_recording
def test_copies_equal_those_of_plain_sql(recording):
    rows = Sql(recording)(
        """SELECT s.string, COUNT(*), SUM(c."end" - c.start), SUM(c.size) FROM {memory_copy} c
           JOIN {string} s ON s.id = c.name_id GROUP BY 1"""
    )
    documents = analyse(recording)
    copies = [symbol for symbol in documents.dag.symbols if symbol.kind == "copy"]
    found = {copy.kernel: (copy.dispatches, copy.total_ms) for copy in copies}
    if documents.dag.critical_path_ns is not None:
        assert found == {name: (count, total / 1e6) for name, count, total, _ in rows}
    table = documents.dispatches.table().to_pydict()
    of_copies = [i for i, kind in enumerate(table["kind"]) if kind == "copy"]
    assert sum(table["bytes"][i] for i in of_copies) == sum(size for *_, size in rows)


@every_recording
def test_counters_equal_those_of_plain_sql(recording):
    trace = read_trace(recording)
    rows = Sql(recording)(
        """SELECT p.name, d.dispatch_id, SUM(e.value) FROM {pmc_event} e JOIN {info_pmc} p ON p.id = e.pmc_id
           JOIN {kernel_dispatch} d ON d.event_id = e.event_id GROUP BY 1, 2"""
    )
    found = [
        (name, int(id), float(value))
        for name, column in trace.counters.items()
        for id, value in zip(trace.dispatches.id, column, strict=True)
        if value == value
    ]
    assert sorted(found) == sorted(rows)


def shifted(recording: Path, copy: Path, jitter: np.random.Generator) -> Path:
    """A copy with starts and ends off by up to 120 ns, as with real clocks: neighbours overlap by up to 240 ns more."""
    shutil.copy(recording, copy)
    copy.chmod(0o644)
    with sqlite3.connect(copy) as connection:
        dispatches = table_of(connection, "kernel_dispatch")
        for (id,) in connection.execute(f"SELECT id FROM {dispatches}").fetchall():
            begin, end = jitter.integers(-120, 121, 2).tolist()
            connection.execute(f'UPDATE {dispatches} SET start = start + ?, "end" = "end" + ? WHERE id = ?', (begin, end, id))
        connection.execute(f"DELETE FROM {table_of(connection, 'region')}")
    return copy


def table_of(connection: sqlite3.Connection, name: str) -> str:
    query = f"SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_{name}%' AND type = 'table'"
    return f'"{connection.execute(query).fetchone()[0]}"'


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["rocpd/mi300x_bmm_a.db", "rocpd/mi300x_bmm_b.db"])
def test_a_stream_keeps_its_order_whatever_the_clocks_do(recording, tmp_path, seed):
    """Without host calls, the recording has just one stream: a chain, which is its own longest path."""
    trace = read_trace(shifted(recording, tmp_path / "t.db", np.random.default_rng(seed)))
    path = critical_path(build_dag(trace))
    start, end = trace.dispatches.start.astype(np.int64), trace.dispatches.end.astype(np.int64)
    assert np.count_nonzero(start[1:] < end[:-1]) > 5, "some must overlap"
    graph = networkx.DiGraph()
    for node in range(len(start)):
        behind = int(start[node] - (end[node - 1] if node else start[0]))
        graph.add_edge(node - 1, node, weight=behind + int(end[node] - start[node]))
    longest = networkx.dag_longest_path(graph)
    assert path.nodes.tolist() == longest[1:] == list(range(len(start)))
    assert path.length_ns == networkx.path_weight(graph, longest, "weight") == path.work_ns + path.delay_ns
    assert not path.slack_ns.any() and path.delay_ns == int(np.maximum(start[1:] - end[:-1], 0).sum())


def test_an_overlap_of_20_ns_changes_no_slack_by_more_than_that(shared_data, tmp_path):
    """The recording with its host calls: dispatch 201 starts 20 ns before dispatch 200 ends, or exactly then."""
    found = []
    for early in (0, 20):
        copy = shutil.copy(shared_data / "rocpd/mi300x_bmm_b.db", tmp_path / f"{early}.db")
        os.chmod(copy, 0o644)
        with sqlite3.connect(copy) as connection:
            dispatches = table_of(connection, "kernel_dispatch")
            rows = connection.execute(f'SELECT id, "end" FROM {dispatches} ORDER BY start').fetchall()
            connection.execute(f"UPDATE {dispatches} SET start = ? WHERE id = ?", (rows[199][1] - early, rows[200][0]))
        found.append(critical_path(build_dag(read_trace(Path(copy)))))
    exact, overlapping = found
    assert overlapping.nodes.tolist() == exact.nodes.tolist()
    assert np.abs(overlapping.slack_ns - exact.slack_ns).max() <= 20 and overlapping.slack_ns[199] == 0
    assert (overlapping.work_ns, overlapping.delay_ns) == (exact.work_ns, exact.delay_ns)


def test_without_a_clock_every_time_is_null_with_its_reason(shared_data):
    documents = analyse(shared_data / WITHOUT_CLOCK)
    assert documents.profile.runtime_ms is None and documents.profile.reasons["runtime_ms"]
    assert documents.dag.critical_path_ns is None and documents.dag.reasons["critical_path_ns"]
    assert documents.analysis.kernels and all(kernel.time_ms is None for kernel in documents.analysis.kernels)


def test_the_broken_recording_is_named_and_stays_untouched(shared_data, tmp_path):
    folder = shared_data / Path(BROKEN).parent
    before = fingerprint(folder)
    with pytest.raises(TraceError, match="its writer was interrupted.*ROCTx"):
        analyse(shared_data / BROKEN)
    assert fingerprint(folder) == before
    for path in folder.glob("q_results.db*"):
        shutil.copy(path, tmp_path)
    os.chmod(tmp_path, 0o555)
    try:
        with pytest.raises(TraceError, match="its writer was interrupted"):
            analyse(tmp_path / "q_results.db")
    finally:
        os.chmod(tmp_path, 0o755)
    assert {path.name for path in tmp_path.iterdir()} == {"q_results.db", "q_results.db-journal"}


@every_recording
def test_host_calls_are_counted_as_calls(recording, name):
    """A call that waits counts once although it has two nodes. Times include what lies before and after the GPU's span."""
    found = {symbol.kernel: (symbol.dispatches, symbol.total_ms) for symbol in analyse(recording).dag.symbols
             if symbol.kind == "host call"}  # fmt: skip
    expected = {call: (count, total / 1e6) for call, count, total in Sql(recording)(OF_CALLS)} if found else {}
    if name == OF_HSA_CALLS:
        found, expected = ({call: of[call] for call in ("hipStreamSynchronize", "hipFree")} for of in (found, expected))
    assert found == expected
