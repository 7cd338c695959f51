"""A journal truncated at any byte by a kill continues as if its last, half-written line had never been started."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.optimize.journal import FILE, Journal, JournalReader, read
from rocm_perf_lab.optimize.journal_lines import BackupLine, Line, VerdictLine


class Step(Line):
    event: str = "step"
    word: str


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.floats(0, 1), TEXTS)
def test_a_line_that_a_kill_cut_short_is_removed_before_the_next_entry(tmp_path_factory, words, where, later):
    run = tmp_path_factory.mktemp("run")
    journal = Journal(run)
    for word in words:
        journal.append(Step(word=word))
    data = (run / FILE).read_bytes()
    end = round(where * len(data))
    (run / FILE).write_bytes(data[:end])  # as if the disk held this when the process was killed
    whole = data[:end].count(b"\n")
    assert [line.word for line in JournalReader(run).of(Step)] == words[:whole]

    resumed = Journal(run)
    resumed.append(Step(word=later))
    entries, size = read(run / FILE)
    assert [entry["word"] for entry in entries] == [*words[:whole], later]
    assert [entry["number"] for entry in entries] == list(range(whole + 1))
    assert size == (run / FILE).stat().st_size  # nothing of the half line is left, either before the new one or after it
    assert [json.loads(line) for line in (run / FILE).read_bytes().splitlines()] == entries


def test_opening_it_is_enough_to_repair_it(tmp_path):
    Journal(tmp_path).append(Step(word="begun"))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole + b'{"number": 1, "event": "ver')
    Journal(tmp_path)
    assert (tmp_path / FILE).read_bytes() == whole


@pytest.mark.parametrize("name", ["source.hip", "n\udcff.hip"])
def test_names_with_any_bytes_are_read_back(tmp_path, name):
    Journal(tmp_path).append(BackupLine(source=name, digest=""))
    assert JournalReader(tmp_path).last(BackupLine).source == name


def test_an_incomplete_line_counts_as_damage(tmp_path):
    Journal(tmp_path).append(Step(word="first"))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"number": 1, "event": "verdict", "baseline": "x"}\n')
    with pytest.raises(OutputError, match="damaged in line 2, verdict"):
        JournalReader(tmp_path).of(VerdictLine)
