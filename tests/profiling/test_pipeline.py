"""Whole analyses: of recorded traces, compared with SQL, and of traces made for these tests."""

from __future__ import annotations

import re
import shutil
import sqlite3
import statistics

import pytest

import rocpd_database
from rocm_perf_lab.analysis import base_run
from rocm_perf_lab.analysis.base_run import read_base_run
from rocm_perf_lab.analysis.thread_trace_target import choose_dispatch
from rocm_perf_lab.arch.counters import SOFTWARE_TARGETS, known_counters
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.errors import NoKernelsError, TraceError
from rocm_perf_lab.profiling.pipeline import analyse
from rocpd_database import Copy, Dispatch


def test_the_analysis_of_a_recorded_run_agrees_with_sql(shared_data):
    paths = [shared_data / "rocpd" / f"mi300x_bmm_{run}.db" for run in "aab"]
    documents = analyse(paths[0], paths[1:])
    own_ms = []
    for path in paths:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        own = "name NOT LIKE '\\_\\_amd\\_rocclr\\_%' ESCAPE '\\'"
        own_ms += [connection.execute(f"SELECT SUM(duration) / 1e6 FROM kernels WHERE {own}").fetchone()[0]]
    profile = documents.profile
    assert profile.runtime_ms == pytest.approx(statistics.median(own_ms))
    assert profile.stability.cv == pytest.approx(statistics.stdev(own_ms) / statistics.mean(own_ms))
    assert profile.kernel.name.startswith("void batched_matrix_multiplication_matrix_core_128x128x16<128u")
    assert (profile.gpu.architecture, profile.gpu.target, profile.gpu.compute_units) == ("cdna3", "gfx942", 304)
    assert (profile.resources.vgpr_per_thread, profile.resources.lds_bytes) == (124, 16384)
    assert profile.occupancy.theoretical == 0.5 and profile.occupancy.limited_by == ["VGPRs", "LDS"]
    assert profile.roofline is None and profile.reasons["roofline"] == "no counters were collected"
    assert (profile.timing, profile.gpu.software_device) == ("measured", None)
    assert documents.dag.dominant_symbol == profile.kernel.name
    assert documents.dag.dependencies == "inferred" and any("inferred" in note for note in documents.dag.notes)
    assert documents.dag.speedup_ceiling == pytest.approx(1 / (1 - documents.dag.fraction))
    of_gpu = [symbol.dispatches for symbol in documents.dag.symbols if symbol.kind != "host call"]
    assert sum(of_gpu) == 301 == len(documents.dispatches)


def test_a_trace_without_gpu_times_gives_reasons_not_zeros(shared_data):
    documents = analyse(shared_data / "rocprofv3" / "v_nocounterclock" / "v_results.db")
    profile, dag = documents.profile, documents.dag
    unknown = [(profile, "runtime_ms"), (profile.kernel, "duration_ns"), (dag, "critical_path_ns"), (dag, "fraction")]
    for section, field in unknown:
        assert getattr(section, field) is None and "no duration" in section.reasons[field]
    assert profile.stability.runs == 0
    assert profile.occupancy.theoretical == 1.0
    assert documents.dispatches.table()["slack_ns"].null_count == len(documents.dispatches) == 2


def test_counter_passes_are_joined_by_symbol(shared_data):
    """Two recorded passes of a program; the second was limited to some kernels, and kernel ids differ between them."""
    folder = shared_data / "rocprofv3" / "ms_pmc_yaml"
    base, second = (next(folder.glob(f"pass_{n}/vm/*.db")) for n in (1, 2))

    def sums(path, counter):
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        query = "SELECT kernel_name, SUM(value) FROM counters_collection WHERE counter_name = ? GROUP BY kernel_name"
        return dict(connection.execute(query, (counter,)).fetchall())

    documents = analyse(base, (), [second])
    ours = {k.kernel: {item.name: item.value for item in k.evidence} for k in documents.analysis.kernels}
    waves, valu = sums(base, "SQ_WAVES"), sums(second, "SQ_INSTS_VALU")
    assert set(ours) == set(waves) > set(valu) != set()
    for name, values in ours.items():
        assert values["waves"] == waves[name]
        assert values["valu_instructions"] == valu.get(name)


def test_scaling_a_shorter_pass(tmp_path):
    base = rocpd_database.write(tmp_path / "base.db", [Dispatch("k", 10 * n, 10 * n + 5) for n in range(4)])
    with_counter = [Dispatch("other", 0, 5)] + [Dispatch("k", 10, 15, counters={"SQ_INSTS_VALU": [30.0, 10.0]})]
    passed = rocpd_database.write(tmp_path / "pass.db", with_counter)
    kernel = analyse(base, (), [passed]).analysis.kernels[0]
    assert next(item.value for item in kernel.evidence if item.name == "valu_instructions") == 160
    assert kernel.notes == ["1 counters were collected on 1 dispatches and scaled to the 4 of the base run"]


@pytest.mark.parametrize("target", SOFTWARE_TARGETS)
def test_counters_that_the_software_device_lacks_are_named_with_the_reason(tmp_path, target):
    counted = dict.fromkeys((one.name for one in known_counters() if one.on_software(target)), [4.0])
    modelled = rocpd_database.write(
        tmp_path / "m.db", [Dispatch("k", 0, 5, counters=counted)], rocpd_database.MODELLED, target=target
    )
    measured = rocpd_database.write(tmp_path / "h.db", [Dispatch("k", 0, 5, counters=counted)], target=target)
    notes = [note for note in analyse(modelled).analysis.kernels[0].notes if "does not count" in note]
    named = {name for note in notes for name in re.findall(r"\w+_\w+", note.partition(": ")[0])}
    assert named == set(family_of(target).counters()) - set(counted)
    assert all(note.partition(": ")[2] in {one.why for one in known_counters()} for note in notes)
    assert not any("does not count" in note for note in analyse(measured).analysis.kernels[0].notes)


def test_the_modelled_pipeline_with_exact_dependencies(tmp_path):
    """Two streams after one copy; the second waits for the first through an event."""
    work = [
        Copy(1000, 1400),
        Dispatch("a", 1500, 2500, queue=1, depends_on=[(0, "signal")]),
        Dispatch("b", 1500, 1700, queue=2, stream=2, depends_on=[(0, "signal")]),
        Dispatch("c", 2600, 2800, queue=2, stream=2, depends_on=[(1, "signal"), (2, "queue")]),
    ]
    documents = analyse(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED))
    dag = documents.dag
    assert (dag.dependencies, dag.edges.signal, dag.edges.queue) == ("exact", 3, 1)
    assert (dag.critical_path_ns, dag.work_ns, dag.delay_ns, dag.lead_ns) == (1800, 1600, 200, 0)
    assert (dag.dominant_symbol, dag.fraction) == ("a", 1000 / 1800)
    by_name = {symbol.kernel: symbol for symbol in dag.symbols}
    assert by_name["b"].min_slack_ns == 800 and by_name["b"].critical_path_ns == 0
    assert by_name["MEMORY_COPY_HOST_TO_DEVICE"].kind == "copy"
    assert documents.profile.timing == "modelled" and documents.profile.timing_parameters == "f00d"
    rows = documents.dispatches.table().to_pylist()
    assert [(row["name"], row["start_ns"], row["slack_ns"], row["on_path"]) for row in rows] == [
        ("a", 500, 0, True), ("b", 500, 800, False), ("c", 1600, 0, True), ("MEMORY_COPY_HOST_TO_DEVICE", 0, 0, True),
    ]  # fmt: skip


def test_a_program_without_kernels_has_its_own_error(tmp_path):
    with pytest.raises(NoKernelsError, match="./app launched no GPU kernel"):
        analyse(rocpd_database.write(tmp_path / "t.db", [Copy(0, 10)], rocpd_database.MODELLED))


def test_the_traces_are_not_changed(tmp_path, shared_data):
    copy = tmp_path / "ms.db"
    shutil.copyfile(shared_data / "rocprofv3" / "ms_trace" / "ms_results.db", copy)
    before = copy.read_bytes()
    analyse(copy)
    assert copy.read_bytes() == before and list(tmp_path.iterdir()) == [copy]


@pytest.mark.parametrize("other", [rocpd_database.MODELLED | {"timing_parameters": "beef"}, None])
@pytest.mark.parametrize("role", ["repeats", "counters"])
def test_times_of_different_models_are_never_compared(tmp_path, other, role):
    work = [Dispatch("k", 100, 300, counters={"SQ_WAVES": [4]})]
    base = rocpd_database.write(tmp_path / "base.db", work, own=rocpd_database.MODELLED)
    second = rocpd_database.write(tmp_path / "second.db", work, own=other)
    named = r"base\.db are modelled .* f00d, .*second\.db (modelled .* beef|measured): .*compared"
    with pytest.raises(TraceError, match=named):
        analyse(base, **{role: [second]})
    assert analyse(base, **{role: [base]}).profile.timing_parameters == "f00d"


def test_the_base_run_is_read_and_its_path_computed_once(tmp_path, monkeypatch):
    calls = []

    def counted(name: str) -> None:
        original = getattr(base_run, name)
        monkeypatch.setattr(base_run, name, lambda *arguments: calls.append(name) or original(*arguments))

    counted("read_trace")
    counted("build_dag")
    counted("critical_path")
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("a", 0, 20), Dispatch("b", 30, 90)], rocpd_database.MODELLED)
    run = read_base_run(path)
    assert choose_dispatch(run, True).symbol.name == "b"
    assert analyse(run).dag.dominant_symbol == "b"
    assert calls == ["read_trace", "build_dag", "critical_path"]
