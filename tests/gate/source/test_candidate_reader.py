"""What the judge asks of the process that reads candidates, and what becomes of its answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from rocm_perf_lab.errors import SourceError, UnavailableError
from rocm_perf_lab.gate.change import KernelChange, LaunchText
from rocm_perf_lab.gate.source import candidate_reader
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.promises import Promises
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.source_state import join_state

CHANGE = {
    "kernel": "k", "head": "h\xff", "body": "{}", "functions": ["f"], "names": ["f"],
    "promises": {"restrict": ["p"], "unwritten": ["q"], "threads": 64},
    "launches": [
        {"start": 1, "end": 2, "line": 3, "tokens": ["n"], "file": None},
        {"start": 4, "end": 5, "line": 6, "tokens": [], "file": "/m.hip"},
    ],
}  # fmt: skip


def launch(reader: CandidateReader) -> SimpleNamespace:
    reader._process = SimpleNamespace()
    reader._sender.start()
    return reader._process


@pytest.fixture
def reader(monkeypatch, tmp_path):
    """reader(answers in turn; None for none) -> (the reader, requests, seconds that were waited at most)."""

    def make(*answers, seconds=30):
        left, told, waited = list(answers), [], []
        monkeypatch.setattr(candidate_reader, "installation", lambda *_: ())
        monkeypatch.setattr(candidate_reader, "_send_request", lambda _process, request: told.append(request))
        monkeypatch.setattr(CandidateReader, "_answer", lambda _self, _process, limit: waited.append(limit) or left.pop(0))
        monkeypatch.setattr(CandidateReader, "_launch", launch)
        monkeypatch.setattr(CandidateReader, "_end", lambda self: setattr(self, "_process", None))
        (tmp_path / "other.h").write_bytes(b"other \xfe")
        baseline = HipSource(tmp_path / "x.hip", ("hipcc",), tmp_path, b"baseline")
        return CandidateReader(baseline, seconds=seconds), told, waited

    return make


READY = {"ready": True}


@pytest.mark.parametrize("seconds", [30, 3])
def test_a_candidate_has_ten_seconds_for_each_of_the_processor(reader, seconds):
    made, told, waited = reader(READY, {"refused": "no"}, {"refused": "again"}, seconds=seconds)
    assert made.change(b"text \xff", "k") == "no" and made.change(b"more") == "again"
    request = {"kernel": "k", "seconds": seconds, "wall_seconds": 10 * seconds, "others": []}
    assert told == [{"text": "text \xff", **request}, {"text": "more", **request, "kernel": None}]
    assert waited == [120, 10 * seconds + 5, 10 * seconds + 5]  # ready once


def test_an_answer_is_the_change(reader):
    made, *_ = reader(READY, {"change": CHANGE})
    launches = LaunchText(1, 2, 3, ("n",)), LaunchText(4, 5, 6, (), Path("/m.hip"))
    promises = Promises(("p",), ("q",), 64)
    assert made.change(b"") == KernelChange("k", b"h\xff", b"{}", (b"f",), ("f",), promises, launches)


def test_other_files_are_told_with_both_texts(reader, tmp_path):
    made, told, _ = reader(READY, {"refused": "no"})
    made.change(join_state(b"own", {tmp_path / "other.h": b"changed"}))
    assert told[-1]["text"] == "own" and told[-1]["others"] == [[str(tmp_path / "other.h"), "other \xfe", "changed"]]
    missing = tmp_path / "missing.h"
    complaint = made.change(join_state(b"own", {missing: b""}))
    assert complaint == f"it changes {missing}, which cannot be read: No such file or directory"


def test_without_an_answer_the_candidate_is_refused(reader):
    assert reader(READY, None, seconds=3)[0].change(b"") == "it cannot be read within 30 s and the cage's memory limit"


def test_a_baseline_that_cannot_be_read_is_an_error(reader):
    with pytest.raises(UnavailableError, match="the process that reads candidates did not start, or was killed"):
        reader(None)[0].change(b"")
    with pytest.raises(SourceError, match="^x.hip:3: no such thing"):
        reader({"error": "x.hip:3: no such thing"})[0].change(b"")
