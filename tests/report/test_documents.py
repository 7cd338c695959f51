"""The documents: they follow their schema, survive a JSON round trip, and the same analysis gives the same bytes."""

from __future__ import annotations

import json

import jsonschema
import pyarrow.parquet as parquet
import pydantic
import pytest

import rocpd_database
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.cli.json_documents import DOCUMENTS
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.exporters import export_all
from rocm_perf_lab.report.json_writer import to_json
from rocm_perf_lab.report.schema import EvidenceItem
from rocpd_database import Copy, Dispatch

ALL_COUNTERS = {name: [3.0, 5.0] for name in family_of("gfx942").counters()}


@pytest.fixture(params=["modelled with counters", "no counters", "no times", "only runtime kernels", "unknown device"])
def trace(request, tmp_path):
    """Traces that make different fields null."""
    kernel = Dispatch("k<int>", 100, 700, counters=ALL_COUNTERS, depends_on=[(0, "signal")])
    kinds = {
        "modelled with counters": ([Copy(0, 90), kernel, Dispatch("b", 800, 900)], rocpd_database.MODELLED, 0x74A1),
        "no counters": ([Dispatch("k", 0, 10), Dispatch("k", 20, 35)], None, 0x74A1),
        "no times": ([Dispatch("k", 5, 5)], None, 0x74A1),
        "only runtime kernels": ([Dispatch("__amd_rocclr_copyBuffer", 0, 10)], None, 0x74A1),
        "unknown device": ([Dispatch("k", 0, 10, counters=ALL_COUNTERS)], None, 0x1234),
    }
    return rocpd_database.write(tmp_path / "t.db", *kinds[request.param])


def test_documents_validate_and_survive_json(trace):
    for name, document in analyse(trace).by_name().items():
        text = to_json(document)
        jsonschema.validate(json.loads(text), DOCUMENTS[name].model.model_json_schema())
        assert DOCUMENTS[name].model.model_validate_json(text) == document
        assert json.loads(text)["schema_version"] == "1.0"


def test_every_null_has_a_reason_beside_it_and_no_other(trace):
    def check(value):
        if isinstance(value, dict):
            nulls = {key for key, item in value.items() if item is None}
            assert nulls == set(value.get("reasons", {})), value
            assert all(value.get("reasons", {}).values())
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item)

    for document in analyse(trace).by_name().values():
        check(json.loads(to_json(document)))


def test_a_null_without_a_reason_and_an_unknown_field_are_refused():
    with pytest.raises(pydantic.ValidationError, match="do not match"):
        EvidenceItem(name="x", unit="", value=None)
    with pytest.raises(pydantic.ValidationError, match="do not match"):
        EvidenceItem(name="x", unit="", value=1.0, reasons={"value": "it is there"})
    with pytest.raises(pydantic.ValidationError):
        EvidenceItem(name="x", unit="", value=1.0, more=2)
    with pytest.raises(pydantic.ValidationError):
        EvidenceItem(name="x", unit="", value=float("inf"))


def test_the_same_trace_gives_the_same_bytes(trace, tmp_path):
    for folder in ("one", "two"):
        export_all(analyse(trace), tmp_path / folder)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == [
        "analysis.json",
        "dag.json",
        "dispatches.parquet",
        "profile.json",
        "report.html",
        "roofline.json",
        "source.json",
        "timeline.json",
    ]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_two_modelled_runs_at_other_times_differ_only_in_run(tmp_path):
    """The software device's clock has an arbitrary start; only differences of times mean anything."""

    def run(name, offset):
        work = [Copy(offset, offset + 9), Dispatch("k", offset + 20, offset + 80, depends_on=[(0, "queue")])]
        return analyse(rocpd_database.write(tmp_path / name, work, rocpd_database.MODELLED))

    first, second = run("a.db", 1_000), run("b.db", 987_654_321)
    for name, document in first.by_name().items():
        left, right = (json.loads(to_json(d)) for d in (document, second.by_name()[name]))
        left.pop("run", None), right.pop("run", None)
        assert left == right
    assert first.dispatches.table().equals(second.dispatches.table())


def test_the_fields_that_others_rely_on_are_where_they_belong(trace):
    documents = {name: json.loads(to_json(document)) for name, document in analyse(trace).by_name().items()}
    for path in (
        "profile.schema_version", "profile.tool.version", "profile.timing", "profile.kernel.name", "profile.gpu.architecture",
        "profile.gpu.target", "profile.runtime_ms", "profile.stability.cv", "profile.stability.runs",
        "profile.stability.mean_ms", "profile.stability.stddev_ms", "profile.stability.classification",
        "profile.resources.vgpr_per_thread", "profile.resources.sgpr_per_wave", "profile.resources.lds_bytes",
        "profile.occupancy.theoretical", "profile.roofline", "profile.run.pid", "dag.critical_path_ns", "dag.dominant_symbol",
        "dag.fraction", "dag.speedup_ceiling", "dag.symbols.0.share", "dag.symbols.0.overlap_potential_ns",
        "analysis.kernels.0.kernel", "analysis.kernels.0.time_ms", "analysis.kernels.0.operational_intensity",
        "analysis.kernels.0.roofline_position", "analysis.kernels.0.critical_path_score", "analysis.kernels.0.bottleneck.name",
    ):  # fmt: skip
        value = documents
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]


def test_the_dispatch_table_is_readable_parquet(trace, tmp_path):
    export_all(analyse(trace), tmp_path / "out")
    table = parquet.read_table(tmp_path / "out" / "dispatches.parquet")
    assert table.num_rows >= 1 and min(table["start_ns"].to_pylist()) == 0


def test_an_unwritable_place_gives_one_clear_error(tmp_path, trace):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write .*file"):
        export_all(analyse(trace), tmp_path / "file" / "out")
