"""Runs that are measured again: which runs are refused, and the effect of measured times on the table of the model's error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis import user_model_errors
from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.analysis.user_model_errors import MIN_ENTRIES, RecordedDifference, add, error_for
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.gate.application.application_check import SourceText
from rocm_perf_lab.gate.application.program_run import ProgramRun
from rocm_perf_lab.gate.verdict import StepOutcome, StepVerdict, Verdict
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, CodeObjectEvidence
from rocm_perf_lab.hip_source.source import HipSource
from rocm_perf_lab.optimize import remeasure
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import AcceptedLine, BackupLine, BeginLine, ProgramLine, RemeasuredLine, VerdictLine
from rocm_perf_lab.optimize.remeasure_words import lines_of_remeasurement
from rocm_perf_lab.optimize.source_file import digest

SYMBOL, TEXTS = "_Z4sumsv", (b"// as it was\n", b"// faster\n", b"// faster still\n")
MODELLED_MS = (0.8, 0.4, 0.3)
NOTHING = {"dram_bytes": None, "timing_parameters": None, "counters": {}}


@pytest.fixture(autouse=True)
def own_table(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return user_model_errors.table()


def run_with_two_changes(folder: Path) -> Path:
    """A run as `optimize` leaves it: two accepted changes, with modelled times."""
    run, source = folder / "run-0001", folder / "app.hip"
    (run / "backup").mkdir(parents=True)
    (run / "backup" / "app.hip").write_bytes(TEXTS[0])
    journal = Journal(run)
    journal.append(BackupLine(source=str(source), digest=digest(TEXTS[0])))
    journal.append(BeginLine(time="2026-01-01T00:00:00+00:00", source=str(source), digest=digest(TEXTS[0])))
    journal.append(ProgramLine(folder=str(folder), program=["./app"], source=str(source), build=None, check=[]))
    for number, (before, after) in enumerate(zip(MODELLED_MS, MODELLED_MS[1:], strict=False), 1):
        evidence = ApplicationEvidence(
            timing="modelled", timing_parameters=table_hash(), runtime_ms=(before + 1, after + 1), kernel_ms=(before, after)
        )
        steps = [
            StepVerdict("code object", StepOutcome.PASSED, "", CodeObjectEvidence(symbol=SYMBOL)),
            StepVerdict("application", StepOutcome.PASSED, "", evidence),
        ]
        candidate = digest(TEXTS[number])
        verdict = Verdict(tuple(steps), adopted=TEXTS[number]).document()
        journal.append(VerdictLine(baseline=digest(TEXTS[number - 1]), candidate=candidate, verdict=verdict))
        journal.append(AcceptedLine(iteration=number, kernel="sums()", description=f"change {number}", candidate=candidate,
                                    file="", runtime_ms=after + 1))  # fmt: skip
    return run


class OnGpu:
    """Replaces a program's runs on a GPU. times: those of the kernel, by source text. prints: the output of the last run."""

    def __init__(self, times, prints=b"1\n"):
        self.times, self.prints, self.turns = times, prints, []
        self.baseline = self._of(TEXTS[0])

    def _of(self, text: bytes) -> ProgramRun:
        time = self.times[text] * (1 + 0.01 * (len(self.turns) % 3))
        stdout = self.prints if text == TEXTS[2] else b"1\n"
        return ProgramRun(stdout, time + 1, timing="measured", mean_ms={SYMBOL: time}, device="AMD Instinct MI300X", **NOTHING)

    def run(self, _program: Path, source: SourceText) -> ProgramRun:
        (text,) = source.texts.values()
        self.turns.append(text)
        return self._of(text)

    def wrong_output(self, stdout: bytes) -> str | None:
        return None if stdout == b"1\n" else "it prints something else"


def remeasured(run: Path, gpu: OnGpu, monkeypatch):
    def measured(_target, changes, *_):
        states = [HipSource(Path("app.hip"), (), run, text) for text in (changes[0].before, *(one.after for one in changes))]
        return remeasure._run_interleaved(gpu, {text: Path() for text in TEXTS}, states, lambda _: None)

    monkeypatch.setattr(remeasure, "_measure", measured)
    monkeypatch.setattr(remeasure, "_expect_gpu", lambda _: None)
    return remeasure.remeasure(run, remeasure.BackendOptions(), lambda _: None)


def test_measured_times_are_recorded_beside_predictions_in_journal_and_table(tmp_path, monkeypatch, own_table):
    run = run_with_two_changes(tmp_path)
    gpu = OnGpu(dict(zip(TEXTS, (0.8, 0.6, 0.3), strict=True)))
    for _ in range(2):  # measuring a second time replaces the rows of the first
        found = remeasured(run, gpu, monkeypatch)
    assert gpu.turns[:6] == [*TEXTS, *TEXTS] and found.rounds == 7 and found.table == str(own_table)
    assert [one.predicted for one in found.changes] == [0.5, pytest.approx(0.75)]
    for change, expected in zip(found.changes, (0.75, 0.5), strict=True):
        assert change.interval[0] <= change.recorded <= change.interval[1]
        assert change.recorded == pytest.approx(expected, rel=0.03) and change.recorded_program < 1
    rows = [json.loads(line) for line in own_table.read_text().splitlines()]
    assert [(row["predicted"], row["device"]) for row in rows] == [
        (pytest.approx(ratio), "AMD Instinct MI300X") for ratio in (0.5, 0.75)
    ]
    lines = Journal(run).of(RemeasuredLine)
    assert [line.change for line in lines[-2:]] == found.changes and lines[-1].timing == "measured"
    text = "\n".join(lines_of_remeasurement(found))
    assert "50.0% saved modelled by the run, 2" in text and "measured now" in text and str(own_table) in text


def test_a_change_with_a_wrong_result_has_no_ratio_and_no_row(tmp_path, monkeypatch, own_table):
    run = run_with_two_changes(tmp_path)
    found = remeasured(run, OnGpu(dict(zip(TEXTS, (0.8, 0.6, 0.3), strict=True)), prints=b"2\n"), monkeypatch)
    first, second = found.changes
    assert first.complaint is None and first.recorded is not None
    assert (second.complaint, second.recorded, second.interval) == ("it prints something else", None, None)
    assert len(own_table.read_text().splitlines()) == 1


ratio = st.floats(0.05, 2)


@given(st.lists(st.tuples(ratio, ratio), min_size=MIN_ENTRIES, max_size=40))
def test_the_users_own_table_is_used_once_it_is_long_enough(tmp_path_factory, pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        shipped = error_for_differences(table_hash())
        rows = [RecordedDifference("a", str(n), "gpu", table_hash(), *pair) for n, pair in enumerate(pairs)]
        add([RecordedDifference("a", "b", "gpu", "other parameters", 0.1, 1.9)] * MIN_ENTRIES)
        add(rows[: MIN_ENTRIES - 1])
        assert error_for_differences(table_hash()) == shipped
        add(rows[MIN_ENTRIES - 1 :])
        within = error_for(table_hash())
        assert error_for_differences(table_hash()) == within
        assert sum(row.error <= within for row in rows) >= 0.8 * len(rows)
        assert sum(row.error < within for row in rows) < 0.8 * len(rows)


def test_a_run_that_cannot_be_measured_again_is_reported(tmp_path, rocm_perf):
    (tmp_path / "empty").mkdir()
    run = run_with_two_changes(tmp_path)
    nothing = tmp_path / "nothing"
    Journal(nothing).append(ProgramLine(folder=str(tmp_path), program=["./app"], source="app.hip", build=None, check=[]))
    journal = (run / "journal.jsonl").read_bytes()
    for words, told, code in (
        (["absent"], "absent is not a run of `rocm-perf optimize`", 66),
        (["empty"], "empty is not a run of `rocm-perf optimize`", 66),
        ([run, "./app"], "./app cannot be combined with --remeasure", 2),
        ([run], "no usable AMD GPU here", 69),
        ([nothing, "--device", "gfx942"], "nothing accepted no change", 66),
        ([run, "--device", "hardware"], "", 69),
    ):
        done = rocm_perf("optimize", "--remeasure", *words)
        assert done.returncode == code and told in done.stderr and len(done.stderr.strip().splitlines()) <= 2, done.stderr
    assert (run / "journal.jsonl").read_bytes() == journal
    lines = [line for line in journal.splitlines() if b'"event": "target"' not in line]
    (run / "journal.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    done = rocm_perf("optimize", "--remeasure", run, "--device", "gfx942")
    assert done.returncode == 66 and "does not say how the program is built" in done.stderr
    assert os.listdir(tmp_path / "empty") == []
