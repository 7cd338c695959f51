"""benchmarks/predictions.py: its tables from journals."""

from __future__ import annotations

import json

import predictions
import pytest

from rocm_perf_lab.optimize.journal_lines import OutcomeLine


def line(number: int, at_most: float | None, predicted: float | None, measured: float | None, accepted: bool = True) -> str:
    found = OutcomeLine(
        candidate=str(number), kernel="k(int)", description="unroll", transformation="unroll", causes=["memory-latency"],
        at_most_kernel=at_most, predicted_kernel=predicted, predicted_program=None, measured_kernel=measured,
        measured_program=None, accepted=accepted,
    )  # fmt: skip
    return json.dumps(found.as_json())


def test_a_run_is_summarised_in_one_row(tmp_path, capsys, monkeypatch):
    lines = [line(1, 0.5, 0.4, 0.2), line(2, 0.5, 0.2, 0.3, False), line(3, 0.5, 0.1, 0.6), line(4, 0.5, 0.05, -0.1, False)]
    unknown = [line(5, None, None, 0.1), line(6, 0.5, 0.4, None, False)]
    (tmp_path / "journal.jsonl").write_text("\n".join([*lines, lines[0], *unknown, json.dumps({"event": "passed over"})]))
    monkeypatch.setattr("sys.argv", ["predictions.py", str(tmp_path)])
    predictions.main()
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "4 proposals measured in 1 runs; proposals were passed over 1 times"
    # Of the six pairs, those with the last proposal are in the order of the predictions, and the others are not.
    assert told[-1] == "| all | 4 | 2 | 3 | 325% | 0.00 |"


def test_missing_predictions_are_reported(tmp_path, monkeypatch):
    (tmp_path / "journal.jsonl").write_text(line(1, None, None, 0.1))
    monkeypatch.setattr("sys.argv", ["predictions.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="1 journals, and no outcome"):
        predictions.main()
