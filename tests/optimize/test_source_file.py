"""A source that is being changed survives SIGKILL at every step, and is never overwritten once somebody else changed it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from killed_runs import killed_before
from rocm_perf_lab.errors import OutputError, SourceError
from rocm_perf_lab.llm.journal_lines import StopLine
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import BackupLine, Line, PutLine
from rocm_perf_lab.optimize.source_file import SourceFile, digest, sweep, write_whole

ORIGINAL, ACCEPTED, SECOND = b"original\n", b"accepted, longer\n" * 400, b"second candidate"


def changed_twice(folder: Path, deadline: int) -> int:
    """killed_before(), for every call that makes changes durable."""
    folder.mkdir()
    (folder / "x.hip").write_bytes(ORIGINAL)
    (folder / "x.hip").chmod(0o640)

    def change() -> None:
        source = SourceFile(folder / "x.hip", folder / "run", Journal(folder / "run"))
        source.save()
        source.put(ACCEPTED, "faster")
        source.put(SECOND, "faster still")

    return killed_before(deadline, change, ("fsync", "replace", "fchmod", "open"))


def test_a_kill_at_any_step_leaves_a_complete_known_source(tmp_path):
    count = changed_twice(tmp_path / "whole", 0)
    assert (tmp_path / "whole" / "x.hip").read_bytes() == SECOND
    assert count >= 15
    for deadline in range(1, count + 1):
        folder = tmp_path / str(deadline)
        assert changed_twice(folder, deadline) == -9
        path = folder / "x.hip"
        journal = Journal(folder / "run")
        announced = {digest(text): text for text in (ORIGINAL, ACCEPTED, SECOND)}
        put = [announced[line.digest] for line in journal.of(PutLine)]
        assert path.read_bytes() in [ORIGINAL, *put][-2:], "what the journal says, or what was there before"
        assert path.stat().st_mode & 0o777 == 0o640
        if journal.last(BackupLine) is not None:
            assert (folder / "run" / "backup" / "x.hip").read_bytes() == ORIGINAL
        sweep(path)
        assert [left.name for left in folder.iterdir() if left.name.endswith(".new")] == []


@pytest.fixture
def source(tmp_path):
    (tmp_path / "x.hip").write_bytes(ORIGINAL)
    made = SourceFile(tmp_path / "x.hip", tmp_path / "run", Journal(tmp_path / "run"))
    made.save()
    return made


def test_somebody_elses_change_is_never_overwritten(source):
    source.path.write_bytes(b"edited by the user")
    with pytest.raises(SourceError, match="changed by another program"):
        source.put(ACCEPTED, "faster")
    assert source.path.read_bytes() == b"edited by the user" and source.backup.read_bytes() == ORIGINAL


def test_a_truncated_journal_is_read_up_to_its_last_complete_line(tmp_path):
    journal = Journal(tmp_path)
    journal.append(Line(event="one"))
    journal.append(StopLine(reason="zwei\nLinien", detail=""))
    data = journal.path.read_bytes()
    for length in range(len(data)):
        journal.path.write_bytes(data[:length])
        assert [entry["event"] for entry in Journal(tmp_path).entries] == ["one", "stop"][: data[:length].count(b"\n")]
    journal.path.write_bytes(b"garbage\n" + data)
    with pytest.raises(OutputError, match="damaged at byte 0"):
        Journal(tmp_path)


def test_a_full_disk_leaves_the_source_as_it_was(source, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    entries = len(source._journal.entries)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        source.put(ACCEPTED, "faster")
    assert source.path.read_bytes() == ORIGINAL and len(source._journal.entries) == entries
    assert digest(ORIGINAL) == source._journal.last(BackupLine).digest


FILL = """
import pathlib, resource, sys
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import Line, PutLine
journal = Journal(pathlib.Path(sys.argv[1]))
journal.append(Line(event="one"))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    journal.append(PutLine(digest="", why="x" * 1000))
except OutputError:
    print("refused")
"""


def test_a_line_that_does_not_fit_is_refused_once_and_in_order(tmp_path):
    done = subprocess.run([sys.executable, "-c", FILL, tmp_path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")  # also when the process ends
    assert [entry["event"] for entry in Journal(tmp_path).entries] == ["one"]


def test_a_link_is_kept_and_a_device_is_written_in_place(tmp_path):
    target, link = tmp_path / "target.hip", tmp_path / "link.hip"
    target.write_bytes(b"old")
    link.symlink_to(target.name)
    write_whole(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    write_whole(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OutputError, match="No space left"):
        write_whole(Path("/dev/full"), b"new")
    assert Path("/dev/full").is_char_device()
