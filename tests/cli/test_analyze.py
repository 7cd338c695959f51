"""`rocm-perf analyze` on existing databases: from other collectors, with several ranks and passes, and for part of a trace."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from pathlib import Path

import jsonschema
import pytest
from pyarrow import parquet

import rocpd_database
from fuzz import thread_traces
from rocm_perf_lab.__main__ import main
from rocpd_database import Copy, Dispatch

_SHARED = Path(os.environ.get("RPL_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "data"
BROKEN = "rocprofv3/ms_marker_quote/q_results.db"
RECORDINGS = [name for path in sorted(_SHARED.rglob("*.db")) if (name := str(path.relative_to(_SHARED))) != BROKEN]


@pytest.fixture
def analyze(tmp_path, monkeypatch, capsys):
    """analyze("t.db", "--json") runs the command in tmp_path, in this process: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rocm-perf", "analyze", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        return exit.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture
def analyzed(analyze):
    """Like `analyze` with --json, expecting success: the printed object."""

    def run(*arguments: object) -> dict:
        code, out, err = analyze(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return run


def sql(path: Path, query: str) -> list[tuple]:
    """Runs on the plain views, which exist both in recorded databases and in those of the tests."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    return connection.execute(query).fetchall()


OF_KERNELS = """SELECT REPLACE(s.display_name, '.kd', ''), COUNT(*), SUM(d."end" - d.start) FROM rocpd_kernel_dispatch d
                JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id {where} GROUP BY s.kernel_name"""


def totals(found: dict) -> dict[str, tuple[int, int]]:
    return {k["kernel"]: (k["dispatches"], round((k["time_ms"] or 0) * 1e6)) for k in found["analysis"]["kernels"]}


@pytest.mark.parametrize("name", RECORDINGS or ["(no recordings)"])
def test_every_recording_has_the_totals_of_sql(analyzed, shared_data, tmp_path, name):
    path = shared_data / name
    found = analyzed(path, "-o", "out")
    assert totals(found) == {name: tuple(rest) for name, *rest in sql(path, OF_KERNELS.format(where=""))}
    table = parquet.read_table(tmp_path / "out" / "dispatches.parquet")
    ((dispatches, copies),) = sql(path, "SELECT (SELECT COUNT(*) FROM rocpd_kernel_dispatch), COUNT(*) FROM rocpd_memory_copy")
    assert table["kind"].to_pylist() == ["dispatch"] * dispatches + ["copy"] * copies
    for name in ("profile", "roofline", "dag", "analysis"):
        assert json.loads((tmp_path / "out" / f"{name}.json").read_text()) == found[name]


def test_the_error_of_the_broken_recording_says_what_broke_it(analyze, shared_data, tmp_path):
    before = {path.name: path.read_bytes() for path in (shared_data / BROKEN).parent.iterdir()}
    code, out, err = analyze(shared_data / BROKEN, "--json")
    assert (code, out) == (65, "") and "its writer was interrupted" in err and "ROCTx" in err
    assert {path.name: path.read_bytes() for path in (shared_data / BROKEN).parent.iterdir()} == before
    assert not list(tmp_path.iterdir())


# ---- a part of a trace ----


def two_gpus(path: Path) -> Path:
    rocpd_database.write(
        path, [Copy(0, 500), Dispatch("a", 1000, 2000), Dispatch("b<int>", 3000, 5000), Dispatch("a", 6000, 6500)]
    )
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO rocpd_info_agent SELECT 2, type, name, product_name, uuid, extdata FROM rocpd_info_agent"
        )
        connection.execute("UPDATE rocpd_kernel_dispatch SET agent_id = 2, queue_id = 2, stream_id = 2 WHERE start = 3000")
    return path


@pytest.mark.parametrize(
    "options, where, span",
    [
        (["--gpu", "0"], "WHERE agent_id = 1", 6500),
        (["--gpu", "1"], "WHERE agent_id = 2", 2000),
        (["--time-window", "1us:6us"], "WHERE start >= 1000 AND start < 6000", 4000),
        (["--time-window", "0.003ms:"], "WHERE start >= 3000", 3500),
        (["--time-window", ":3000ns", "--gpu", "0"], "WHERE start < 3000 AND agent_id = 1", 2000),
    ],
)
def test_a_part_of_a_trace_has_the_totals_of_sql(analyzed, tmp_path, options, where, span):
    path = two_gpus(tmp_path / "t.db")
    found = analyzed(path, *options)
    assert totals(found) == {name: tuple(rest) for name, *rest in sql(path, OF_KERNELS.format(where=where))}
    assert found["dag"]["critical_path_ns"] == span


def test_matching_kernels_are_reported_on_the_critical_path_of_all_kernels(analyzed, tmp_path):
    two_gpus(tmp_path / "t.db")
    whole, part = analyzed("t.db"), analyzed("t.db", "--kernel", "^b<")
    assert part["dag"] == whole["dag"]
    assert [kernel["kernel"] for kernel in part["analysis"]["kernels"]] == [part["profile"]["kernel"]["name"]] == ["b<int>"]
    score = next(k["critical_path_score"] for k in whole["analysis"]["kernels"] if k["kernel"] == "b<int>")
    assert part["analysis"]["kernels"][0]["critical_path_score"] == score


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--gpu", "5"], 2, "there is no GPU 5 in the trace; it has 2"),
        (["--time-window", "1s:2s"], 2, "no dispatch starts in the time window"),
        (["--time-window", "2ms:1ms"], 2, "ends before it starts"),
        (["--time-window", "soon"], 2, "not START:END"),
        (["--kernel", "nothing"], 2, "no kernel matches nothing; the trace has 2 kernels"),
        (["--kernel", "("], 2, "not a regular expression"),
        (["--what-if", "nothing=2"], 2, "no kernel matches nothing"),
        (["--what-if", "a"], 2, "not REGEX=FACTOR"),
        (["--what-if", "a=0"], 2, "not REGEX=FACTOR"),
        (["t.db"], 2, "a trace is named twice"),
        (["no.db"], 66, "there is no trace no.db"),
        (["empty"], 66, "contains no trace"),
        (["text.db"], 65, "not a SQLite database"),
        (["-o", "empty/in/here"], 73, "does not exist"),
        (["--scheduler", "nothing://127.0.0.1:1"], 69, "Dask"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_leaves_nothing_behind(analyze, tmp_path, options, code, words):
    two_gpus(tmp_path / "t.db")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.db").write_text("text, not a database")
    before = sorted(tmp_path.rglob("*"))
    found, out, err = analyze("t.db", *options, "--json")
    assert (found, out) == (code, "") and words in err.splitlines()[-1], err
    assert err.splitlines()[-1].startswith("rocm-perf: error: ")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_if_on_the_command_line(analyzed, analyze, tmp_path):
    """a then b on one queue, 100 apart: making b twice as fast saves half of it, and then a dominates the path."""
    rocpd_database.write(tmp_path / "t.db", [Dispatch("a", 0, 1000), Dispatch("b", 1100, 2300)])
    dag = analyzed("t.db", "--what-if", "^b$=2", "--what-if", "[ab]=4x")["dag"]
    first, second = dag["what_if"][:2]
    assert (first["kernels"], first["span_ns"], first["dominant_symbol"]) == (["b"], 1700, "a")
    assert first["speedup"] == 2300 / 1700
    assert (second["kernels"], second["span_ns"]) == (["a", "b"], 100 + 250 + 300)
    assert dag["dominance_shift"]["then"] == "a" and dag["dominance_shift"]["factor"] == pytest.approx(1.2, rel=0.02)
    assert dag["next_in_line"] == ["a"]
    short = " ".join(analyze("t.db", "--what-if", "^b$=2")[1].split())
    assert "What if ^b$ were 2.00x faster: the GPU's span would be 1.7 us, a gain of 1.35x More" in short
    text = analyze("t.db", "-v")[1]
    assert "No kernel dominates" in text and "takes no time" in text and "ran no kernel for 100 ns" in text


# ---- several databases ----


def rank(path: Path, number: int | None, work: list, start: int = 0, own: dict | None = None) -> Path:
    """A database of one rank, from a run that began at `start`."""
    for item in work:
        item.start, item.end = item.start + start, item.end + start
    rocpd_database.write(path, work, own)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE rocpd_info_process ADD environment TEXT")
        environment = {"HOME": "/"} | ({} if number is None else {"OMPI_COMM_WORLD_RANK": str(number)})
        connection.execute("UPDATE rocpd_info_process SET environment = ?", (json.dumps(environment),))
    return path


def test_ranks_side_by_side(analyzed, analyze, tmp_path):
    """Two ranks in the wrong order, the second with twice the work, and a counter pass of the first."""
    rank(tmp_path / "late.db", 1, [Dispatch("k", 0, 2000, grid=448), Dispatch("only", 2100, 2400)])
    rank(tmp_path / "early.db", 0, [Dispatch("k", 0, 1000, grid=448)])
    rank(tmp_path / "pass.db", 0, [Dispatch("k", 0, 9000, grid=448, counters={"SQ_WAVES": [4.0, 3.0]})], start=10**6)
    found = analyzed("late.db", "early.db", "pass.db", "-o", "out")
    summary, (first, second) = found["summary"], found["ranks"]
    assert [(one["rank"], one["database"], one["span_ms"]) for one in summary["ranks"]] == [
        (0, "early.db", 1e-3), (1, "late.db", 2.4e-3),
    ]  # fmt: skip
    assert summary["slowest_rank"] == 1
    kernels = {kernel["kernel"]: kernel for kernel in summary["kernels"]}
    assert (kernels["k"]["total_ms"], kernels["k"]["min_ms"], kernels["k"]["max_ms"]) == (3e-3, 1e-3, 2e-3)
    assert kernels["k"]["imbalance"] == pytest.approx(2 / 1.5) and kernels["only"]["imbalance"] == pytest.approx(2)
    waves = [
        item["value"] for of in (first, second) for item in of["analysis"]["kernels"][0]["evidence"] if item["name"] == "waves"
    ]
    assert waves == [7, None] and first["profile"]["runtime_ms"] == 1e-3
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"summary.json", "rank_0", "rank_1"}
    assert parquet.read_table(tmp_path / "out" / "rank_1" / "dispatches.parquet").num_rows == 2
    assert json.loads((tmp_path / "out" / "rank_1" / "dag.json").read_text()) == second["dag"]
    code, text, _ = analyze("late.db", "early.db", "-o", "out")
    assert code == 0 and "2 ranks" in text and "The slowest rank" in text


def test_ranks_with_different_timing_parameters_get_a_note(analyzed, tmp_path):
    for number, parameters in enumerate(("f00d", "beef")):
        own = rocpd_database.MODELLED | {"timing_parameters": parameters}
        rank(tmp_path / f"{number}.db", number, [Dispatch("k", 0, 1000)], own=own)
    (note,) = (note for note in analyzed("0.db", "1.db")["summary"]["notes"] if "timing parameters" in note)
    assert "do not compare" in note


def test_runs_of_one_rank_are_repeats_not_ranks(analyzed, tmp_path):
    rank(tmp_path / "one.db", None, [Dispatch("k", 0, 1000)])
    rank(tmp_path / "two.db", None, [Dispatch("k", 0, 3000)], start=10**6)
    found = analyzed(tmp_path, "-o", "out")
    assert found["profile"]["stability"]["runs"] == 2 and found["profile"]["runtime_ms"] == 2e-3


def changed(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)


OF_100 = "UPDATE rocpd_info_kernel_symbol SET arch_vgpr_count = 100"
OTHER_COMMAND = "UPDATE rocpd_info_process SET command = './app 2'"


@pytest.mark.parametrize(
    "work, statement, words",
    [
        ([Dispatch("k", 0, 3000)], OF_100, "k takes 32 VGPRs in one and 100"),
        ([Dispatch("k", 0, 3000, grid=512)], "SELECT 1", "k was launched with different grids"),
        ([Dispatch("k2", 0, 3000)], "SELECT 1", "each has kernels that the other lacks: k is only in one.db"),
        ([Dispatch("k", 0, 3000), Dispatch("l", 4000, 5000)], "SELECT 1", "only two.db launched l"),
        ([Dispatch("k", 0, 3000)], OTHER_COMMAND, "one is of ./app, the other of ./app 2"),
    ],
)
def test_runs_of_two_builds_or_inputs_are_neither_repeats_nor_ranks(analyze, tmp_path, work, statement, words):
    rank(tmp_path / "one.db", None, [Dispatch("k", 0, 1000)])
    rank(tmp_path / "two.db", None, work, start=10**6)
    changed(tmp_path / "two.db", statement)
    code, out, err = analyze("one.db", "two.db")
    assert (code, out) == (2, "") and "neither repeats nor ranks" in err and words in err
    assert analyze("two.db")[0] == 0


GPU_ID = """UPDATE rocpd_info_agent SET extdata = json_set(extdata, '$.uuid', json('{"bytes": {"value0": 7}}'))"""


@pytest.mark.parametrize(
    "start, hosts, gpu, ranks",
    [
        (10**6, ("e81697c6bc31", "0a7c7034bb12"), "SELECT 1", 1),  # containers, one after the other
        (10**6, ("one", "two"), GPU_ID, 1),  # the same GPU
        (500, ("e81697c6bc31", "0a7c7034bb12"), "SELECT 1", 2),  # at the same time
        (10**6, ("one", "two"), "SELECT 1", 2),  # machines about which nothing else is known
    ],
)
def test_runs_of_one_machine_one_after_the_other_are_no_ranks(analyzed, tmp_path, start, hosts, gpu, ranks):
    for name, begin, host in zip(("one.db", "two.db"), (0, start), hosts, strict=True):
        rank(tmp_path / name, None, [Dispatch("k", 0, 1000)], start=begin)
        changed(tmp_path / name, f"UPDATE rocpd_info_node SET hostname = '{host}'")
        changed(tmp_path / name, gpu)
    found = analyzed("one.db", "two.db", "-o", "out")
    assert len(found["ranks"]) == ranks if ranks > 1 else found["profile"]["stability"]["runs"] == 2


def test_two_recordings_of_different_builds_are_refused(analyze, shared_data):
    code, _, err = analyze(*(shared_data / f"rocpd/mi300x_bmm_{name}.db" for name in "ab"))
    assert code == 2 and "neither repeats nor ranks" in err


def test_a_run_directory_of_the_software_device_is_one_rank(analyzed, tmp_path):
    """All its runs have counters, which do not change modelled times, so the second repeats the first."""
    for number, name in enumerate(("base_results.db", "repeat_1_results.db")):
        work = [Dispatch("k", 10**6 * number, 10**6 * number + 500, counters={"SQ_WAVES": [4.0]})]
        rocpd_database.write(tmp_path / name, work, rocpd_database.MODELLED)
    found = analyzed(tmp_path, "-o", "out")
    assert found["profile"]["stability"]["runs"] == 2 and found["profile"]["timing"] == "modelled"


def test_a_gpu_that_only_one_rank_uses(analyzed, tmp_path):
    rank(tmp_path / "one.db", 0, [Dispatch("k", 0, 1000)])
    two = two_gpus(tmp_path / "two.db")
    with sqlite3.connect(two) as connection:
        connection.execute("""ALTER TABLE rocpd_info_process ADD environment TEXT DEFAULT '{"PMI_RANK": "1"}'""")
    found = analyzed("one.db", "two.db", "--gpu", "1")
    assert [one["rank"] for one in found["summary"]["ranks"]] == [1]
    assert any("rank 0 is omitted: there is no GPU 1" in note for note in found["summary"]["notes"])


def suffixed(path: Path, suffixes: list[str]) -> Path:
    """The database at `path` with tables named as by rocprofv3. Several suffixes make it a merged one, with views over all
    processes."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in tables:
            for suffix in suffixes:
                connection.execute(f'CREATE TABLE "{name}{suffix}" AS SELECT * FROM {name}')
            connection.execute(f"DROP TABLE {name}")
            union = " UNION ALL ".join(f'SELECT * FROM "{name}{suffix}"' for suffix in suffixes)
            connection.execute(f"CREATE VIEW {name} AS {union}")
    return path


def test_a_merged_database_holds_several_ranks(analyzed, tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, 1000)])
    names = ["_00000039_4581_7581_85b4_43b5ab82ab50", "_0000003a_4581_7581_85b4_43b5ab82ab51"]
    suffixed(path, names)
    with sqlite3.connect(path) as connection:
        connection.execute(f'UPDATE "rocpd_kernel_dispatch{names[1]}" SET "end" = 4000')
    found = analyzed("t.db")
    assert [one["span_ms"] for one in found["summary"]["ranks"]] == [1e-3, 4e-3]


def test_suffixed_tables_are_read_without_views(analyzed, tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, 1000)])
    suffixed(path, ["_00000039_4581_7581_85b4_43b5ab82ab50"])
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            connection.execute(f"DROP VIEW {name}")
    assert totals(analyzed("t.db")) == {"k": (1, 1000)}


def test_the_printed_json_follows_the_schema(analyzed, rocm_perf, tmp_path):
    schema = json.loads(rocm_perf("schema", "analyze").stdout)
    rank(tmp_path / "one.db", 0, [Dispatch("k", 0, 1000)])
    rank(tmp_path / "two.db", 1, [Dispatch("k", 0, 1000)])
    validator = jsonschema.Draft202012Validator(schema)
    for databases in (["one.db"], ["one.db", "two.db"]):
        validator.validate(analyzed(*databases))
    broken = analyzed("one.db", "two.db")
    broken["ranks"][0]["dag"]["nodes"] = "many"
    assert not validator.is_valid(broken)


def emptied(att: Path, number: int) -> None:
    """Another traced dispatch, from which no wave was caught, as rocprofv3 leaves it."""
    folder = att / f"ui_output_agent_1_dispatch_{number}"
    folder.mkdir()
    (folder / "code.json").write_text('{"code": null}')
    (folder / "filenames.json").write_text('{"gfxip": 9, "wave_filenames": {}}')
    (folder / "occupancy.json").write_text("{}")


def test_a_traced_dispatch_without_waves_is_reported(analyze, analyzed, tmp_path):
    rocpd_database.write(tmp_path / "base.db", [Dispatch(thread_traces.KERNEL, 300, 900)])
    att = thread_traces.write(tmp_path / "att")
    emptied(att, 3)
    code, out, err = analyze("base.db", "-v", "--thread-trace", att)
    said = "dispatch 3 was traced, but no wave of it ran on the traced CU and SIMDs"
    assert code == 0 and said in err and "--att-target-cu" in err and said in " ".join(out.split())
    (kernel,) = analyzed("base.db", "--thread-trace", att)["analysis"]["kernels"]
    assert kernel["thread_trace"] and any(said in note for note in kernel["notes"])


def test_a_thread_trace_is_evidence_where_there_are_no_counters(analyzed, tmp_path):
    rocpd_database.write(tmp_path / "base.db", [Dispatch(thread_traces.KERNEL, 300, 900, grid=64 * 304 * 64)])
    att = thread_traces.write(tmp_path / "att")
    (kernel,) = analyzed("base.db", "--thread-trace", att)["analysis"]["kernels"]
    values = {item["name"]: item["value"] for item in kernel["evidence"]}
    assert values["wait_fraction"] == kernel["thread_trace"]["wait_fraction"] is not None
    assert any("wait fraction" in note and "thread trace" in note for note in kernel["notes"])
    (alone,) = analyzed("base.db")["analysis"]["kernels"]
    latency, without = (
        next(one["score"] for one in of["bottleneck"]["classes"] if one["name"] == "latency-bound") for of in (kernel, alone)
    )
    assert latency is not None and without is None


def test_thread_traces_alone_are_reported_on(analyze, tmp_path, rocm_perf):
    att = thread_traces.write(tmp_path / "att")
    emptied(att, 3)
    code, out, err = analyze(att)
    assert code == 0, err
    text = " ".join(out.split())
    assert "What holds scale back" in text and "Thread trace: 3 waves" in text and "dispatch 3 was traced, but" in text
    code, out, err = analyze(att, "--json")
    document = json.loads(out)["thread_trace"]
    assert document["kernels"][0]["thread_trace"]["waited_for"]["source"] == "scale.hip:13"
    assert any("need a database" in note for note in document["notes"])
    jsonschema.Draft202012Validator(json.loads(rocm_perf("schema", "analyze").stdout)).validate(json.loads(out))
    code, out, err = analyze(att, "--gpu", "0")
    assert (code, out) == (2, "") and "--gpu needs a database" in err


def test_the_recorded_trace_alone(analyze, shared_data):
    """Waits are a quarter of its waves' cycles. Latency is known from the trace; units that it cannot judge stay undecided."""
    code, out, err = analyze(shared_data / "att/gfx942_ck_bmm", "--json")
    assert code == 0, err
    (kernel,) = json.loads(out)["thread_trace"]["kernels"]
    classes = {one["name"]: one for one in kernel["bottleneck"]["classes"]}
    (waits,) = (one for one in classes["latency-bound"]["signals"] if one["name"] == "wait_fraction")
    assert waits["value"] == kernel["thread_trace"]["wait_fraction"] == pytest.approx(0.262, abs=0.001) and not waits["holds"]
    assert kernel["bottleneck"]["name"] == "unknown" and "memory-bandwidth-bound" in kernel["bottleneck"]["undecided"]


def test_a_thread_trace_from_elsewhere(analyzed, analyze, tmp_path):
    work = [Dispatch("other(int)", 100, 200), Dispatch(thread_traces.KERNEL, 300, 900)]
    rocpd_database.write(tmp_path / "base.db", work)
    att = thread_traces.write(tmp_path / "att")
    kernels = {kernel["kernel"]: kernel for kernel in analyzed("base.db", "--thread-trace", att)["analysis"]["kernels"]}
    traced = kernels[thread_traces.KERNEL]["thread_trace"]
    assert traced["waited_for"]["source"] == "scale.hip:13" and traced["waves"] == 3
    assert kernels["other(int)"]["reasons"]["thread_trace"] == "the thread trace is of another kernel"
    rocpd_database.write(tmp_path / "without.db", work[:1])
    code, _, err = analyze("without.db", "--thread-trace", att)
    assert code == 0 and f"{att}: the thread trace is of another kernel" in err
    (tmp_path / "empty").mkdir()
    for wrong in ("nowhere", "empty"):
        code, out, err = analyze("base.db", "--thread-trace", wrong)
        assert (code, out) == (66, "") and f"{wrong} " in err and "rocprofv3 --att" in err
    rank(tmp_path / "one.db", 0, [Dispatch("k", 0, 1000)])
    rank(tmp_path / "two.db", 1, [Dispatch("k", 0, 1000)])
    code, out, err = analyze("one.db", "two.db", "--thread-trace", att)
    assert (code, out) == (2, "") and "these are 2 ranks" in err
