"""Documents as files: their format, and the error where they cannot be written."""

from __future__ import annotations

import pytest

from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.report.json_writer import output_errors, to_json, write_json
from rocm_perf_lab.report.schema import StabilitySection

ONE = StabilitySection(
    runs=3, mean_ms=1.5, stddev_ms=None, cv=None, classification=None,
    reasons=dict.fromkeys(("stddev_ms", "cv", "classification"), "é \ud800"),
)  # fmt: skip


def test_a_document_is_indented_by_two_and_ends_with_one_line_break():
    text = to_json(StabilitySection(runs=3, mean_ms=1.5, stddev_ms=0.5, cv=0.25, classification="unstable"))
    assert text == (
        '{\n  "runs": 3,\n  "mean_ms": 1.5,\n  "stddev_ms": 0.5,\n  "cv": 0.25,\n  "classification": "unstable"\n}\n'
    )


def test_files_are_utf_8_whatever_a_name_holds(tmp_path):
    write_json(tmp_path / "new" / "run", {"one": ONE, "other": ONE})
    text = (tmp_path / "new" / "run" / "one.json").read_bytes().decode()
    assert "é " in text and sorted(path.name for path in (tmp_path / "new" / "run").iterdir()) == ["one.json", "other.json"]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=rf"cannot write {tmp_path}/file \(File exists\)"):
        write_json(tmp_path / "file", {"one": ONE})
    with pytest.raises(OutputError, match=r"cannot write run \(No space left\)"), output_errors("run"):
        raise OSError(28, "No space left")
    with pytest.raises(ZeroDivisionError), output_errors("run"):
        raise ZeroDivisionError
