"""Documents that are read back, and the errors for those that cannot be read."""

from __future__ import annotations

import json

import pytest

from rocm_perf_lab.errors import MissingInputError, TraceError
from rocm_perf_lab.report.read_run_directory import document_in, is_run_directory, read_run_directory
from rocm_perf_lab.report.schema import StabilitySection, SummaryDocument, Tool

RUNS = {"runs": 3, "mean_ms": 1.5, "stddev_ms": 0.5, "cv": 0.25, "classification": "unstable"}


def test_a_document_is_read_as_it_was_written(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(RUNS))
    assert document_in(tmp_path / "a.json", StabilitySection) == StabilitySection(**RUNS)


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "is damaged: Invalid JSON: "),
        ("[]", "is not a document: Input should be an object"),
        (json.dumps(RUNS | {"runs": "x"}), "is not a document of this version: runs: Input should be a valid integer"),
        (json.dumps(RUNS | {"more": 1}), "is not a document of this version: more: Extra inputs are not permitted"),
        (json.dumps(RUNS | {"cv": None}), "is not a document: Value error, null fields ['cv'] and reasons [] do not match"),
        (
            json.dumps(RUNS | {"reasons": {"cv": "one run"}}),
            "is not a document: Value error, null fields [] and reasons ['cv'] do not match",
        ),
    ],
)
def test_an_error_in_a_document_is_reported_in_one_line(tmp_path, text, said):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(TraceError) as error:
        document_in(tmp_path / "a.json", StabilitySection)
    assert error.value.problem.startswith(f"{tmp_path / 'a.json'} {said}") and "\n" not in error.value.problem


def test_the_first_of_several_defects_is_named_with_its_place(tmp_path):
    summary = SummaryDocument(tool=Tool(version="1"), ranks=[], slowest_rank=0, kernels=[], notes=[]).model_dump()
    summary["kernels"] = [{"kernel": "k", "ranks": 1, "dispatches": None}]
    (tmp_path / "a.json").write_text(json.dumps(summary))
    with pytest.raises(TraceError, match=r"version: kernels\.0\.dispatches: Input should be a valid integer; "):
        document_in(tmp_path / "a.json", SummaryDocument)


def test_where_there_is_no_document(tmp_path):
    with pytest.raises(MissingInputError, match="No such file"):
        document_in(tmp_path / "a.json", StabilitySection)
    with pytest.raises(MissingInputError, match=r"profile\.json: No such file"):
        read_run_directory(tmp_path)
    with pytest.raises(MissingInputError, match=r"none/profile\.json: No such file"):
        read_run_directory(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingInputError, match="file is a file, not a run directory"):
        read_run_directory(tmp_path / "file")


def test_the_folder_of_several_ranks_is_not_the_run_directory_of_one(tmp_path):
    assert not is_run_directory(tmp_path)
    (tmp_path / "summary.json").write_text(
        json.dumps(SummaryDocument(tool=Tool(version="1"), ranks=[], slowest_rank=0, kernels=[], notes=[]).model_dump())
    )
    summary, reports = read_run_directory(tmp_path)
    assert summary is not None and summary.slowest_rank == 0 and reports == [] and not is_run_directory(tmp_path)
    (tmp_path / "analysis.json").write_text("{}")
    assert is_run_directory(tmp_path)
