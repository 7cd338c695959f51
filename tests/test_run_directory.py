"""A run directory is complete or absent, whatever happens while it is written."""

import os
import signal
import subprocess
import sys
import types

import pytest

from rocm_perf_lab.errors import OutputError, ProgramKilledError
from rocm_perf_lab.run_directory import new_run_directory


def write_run(destination, text):
    with new_run_directory(destination) as directory:
        (directory / "profile.json").write_text(text)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_appears_complete_and_replaces_an_earlier_one(tmp_path):
    destination = tmp_path / "app.rocm-perf"
    for text in ("first", "second"):
        with new_run_directory(destination) as directory:
            (directory / "profile.json").write_text(text)
            (directory / text).touch()
            assert not destination.exists() or (destination / "profile.json").read_text() != text
        assert names(tmp_path) == ["app.rocm-perf"]
        assert names(destination) == sorted([".rocpd_profile", "profile.json", text])


@pytest.mark.parametrize(("free", "error"), [(0, OutputError), (1 << 30, ProgramKilledError)])
def test_a_program_that_is_killed_by_a_full_disk_is_not_blamed(tmp_path, monkeypatch, free, error):
    """Its trace is mapped into its memory: if there is no room for a page, the program is killed."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: types.SimpleNamespace(free=free))
    with pytest.raises(error), new_run_directory(tmp_path / "app.rocm-perf"):
        raise ProgramKilledError("app", signal.SIGBUS)
    assert names(tmp_path) == []


def test_a_failure_keeps_the_earlier_run(tmp_path):
    destination = tmp_path / "app.rocm-perf"
    write_run(destination, "first")
    with pytest.raises(ZeroDivisionError), new_run_directory(destination) as directory:
        (directory / "profile.json").write_text("second")
        raise ZeroDivisionError
    assert names(tmp_path) == ["app.rocm-perf"]
    assert (destination / "profile.json").read_text() == "first"


def test_the_mode_follows_the_umask(tmp_path):
    previous = os.umask(0o027)
    try:
        write_run(tmp_path / "app", "text")
    finally:
        os.umask(previous)
    assert (tmp_path / "app").stat().st_mode & 0o777 == 0o750


def test_an_empty_folder_may_become_the_run(tmp_path):
    (tmp_path / "made").mkdir()
    write_run(tmp_path / "made", "text")
    assert (tmp_path / "made" / "profile.json").read_text() == "text"


def test_a_link_to_a_run_stays_a_link(tmp_path):
    write_run(tmp_path / "target", "first")
    (tmp_path / "link").symlink_to("target")
    write_run(tmp_path / "link", "second")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target" / "profile.json").read_text() == "second"


@pytest.mark.parametrize("obstacle", ["file", "other folder"])
def test_a_folder_that_is_not_a_run_is_refused_before_anything_runs(tmp_path, obstacle):
    destination = tmp_path / "there"
    if obstacle == "file":
        destination.write_text("mine")
    else:
        destination.mkdir()
        (destination / "mine").touch()
    with pytest.raises(OutputError, match="there"), new_run_directory(destination):
        pytest.fail("the body must not run")
    assert names(tmp_path) == ["there"]


def test_the_current_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="the folder you are in"), new_run_directory(tmp_path):
        pytest.fail("the body must not run")


def test_a_full_disk_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="No space left"), new_run_directory(tmp_path / "run"):
        with open("/dev/full", "w") as full:
            full.write("x")
    assert names(tmp_path) == []


def test_leftovers_of_a_killed_process_are_removed_but_not_unfinished_runs(tmp_path):
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from rocm_perf_lab.run_directory import new_run_directory\n"
        "with new_run_directory(Path(sys.argv[1])) as directory:\n"
        "    (directory / 'half').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, tmp_path / "app"])
    assert killed.returncode == -signal.SIGKILL
    (abandoned,) = tmp_path.iterdir()
    with new_run_directory(tmp_path / "app") as still_growing:
        assert not abandoned.exists()
        write_run(tmp_path / "app", "by another process meanwhile")
        assert still_growing.exists()
        (still_growing / "profile.json").write_text("last")
    assert names(tmp_path) == ["app"]
    assert (tmp_path / "app" / "profile.json").read_text() == "last"
