"""Which parts of the file system and of the environment are visible."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import needs
from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.cage import mechanism as mechanisms
from rocm_perf_lab.cage import mounts as mounts_module
from rocm_perf_lab.cage.homes import parts_to_show
from rocm_perf_lab.cage.launch import environment
from rocm_perf_lab.cage.mounts import mounts
from rocm_perf_lab.cage.start import command_line

NAMES = st.lists(st.sampled_from(["a", "b", ".c", "home", "user"]), min_size=1, max_size=4)


@given(st.lists(NAMES, max_size=8), NAMES, NAMES)
def test_no_hidden_entry_of_a_home_folder_is_shown(tmp_path_factory, files, home, asked):
    """Oracle: a file may be seen if it lies below the requested folder and no hidden entry leads to it from a home folder.

    Nor may a hidden entry lie between the requested folder and a home folder below it.
    """
    top = tmp_path_factory.mktemp("tree")
    homes, folder = frozenset([top.joinpath(*home)]), top.joinpath(*asked)
    for words in files:
        try:
            path = top.joinpath(*words)
            path.mkdir(parents=True, exist_ok=True)
            (path / "file").write_text("")
        except OSError:
            continue
    shown = list(parts_to_show(folder, homes))
    for file in top.rglob("file"):
        seen = any(file.is_relative_to(part) for part in shown)
        assert seen == _may_be_seen(file, folder, next(iter(homes)))


def _may_be_seen(file: Path, folder: Path, home: Path) -> bool:
    if not file.is_relative_to(folder):
        return False
    if not home.is_relative_to(folder):
        return True  # the folder holds no home folder, though it may lie inside one
    at = folder
    for name in file.relative_to(folder).parts:
        if not home.is_relative_to(at):
            return True
        if name.startswith("."):
            return False
        at /= name
    return True


@given(st.text("ABCKEYTOKENSECRETPASSAUTH_", max_size=12), st.sampled_from(["HIP_", "ROCM_", "HSA_", "LC_", "X_", ""]))
def test_variables_that_could_be_secrets_are_not_passed_on(name, prefix):
    kept = environment.environment_inside({prefix + name: "value", "PATH": "/bin"}, [])
    assert kept["PATH"] == "/bin" and kept["HOME"] == kept["TMPDIR"] == "/tmp"
    if any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASS", "AUTH")):
        assert prefix + name not in kept
    assert environment.environment_inside({prefix + name: "value"}, [prefix + name])[prefix + name] == "value"


def test_variables_that_control_device_tracer_and_compilers_are_passed_on():
    names = [
        "HSA_MODEL_LIB", "HSA_MODEL_TOPOLOGY", "HSA_TOOLS_LIB", "LD_PRELOAD", "LD_LIBRARY_PATH", "ROCM_PERF_TRACE", "ROCM_PATH",
        "ROCM_PERF_ROCPD_WRITER", "ROCM_PERF_DEVICE_OPTIONS", "ROCM_PERF_DEVICE_RACES", "HIP_PATH",
        "HIPCC_COMPILE_FLAGS_APPEND", "HIP_VISIBLE_DEVICES", "CPATH", "OMP_NUM_THREADS", "LC_ALL",
    ]  # fmt: skip
    assert set(names) <= set(environment.environment_inside(dict.fromkeys(names, "x")))


def test_paths_through_links_are_shown_under_both_names(tmp_path):
    real, link, file = tmp_path / "real", tmp_path / "link", tmp_path / "real" / "file"
    real.mkdir()
    file.write_text("here")
    link.symlink_to(real)
    ended = cage.run(["cat", str(link / "file"), str(file)], link)
    assert ended.stdout == b"herehere", ended


def test_a_folder_below_one_that_is_shown_is_not_shown_again(tmp_path):
    words = mounts(["true", str(tmp_path / "a" / "b")], tmp_path, View(readable=(tmp_path / "a",)), CageLimits(), True).words
    (tmp_path / "a" / "b").mkdir(parents=True)
    again = mounts(["true", str(tmp_path / "a" / "b")], tmp_path, View(readable=(tmp_path / "a",)), CageLimits(), True).words
    assert words == again and words.count(str(tmp_path)) == 2


@pytest.mark.parametrize("kind", ["bubblewrap", "namespaces"])
def test_entries_that_are_removed_meanwhile_are_left_out(kind, monkeypatch):
    """The entries of /tmp are shown one by one: some are gone when they are checked, others when the cage is made."""
    mechanism = next((one for one in mechanisms.mechanisms_of_kind(kind) if mechanisms.mechanism_works(one)), None)
    if mechanism is None:
        needs.lacking(f"no cage by {kind} here")
    listed = mounts_module._shown_paths
    gone = Path("/tmp/gone-before")
    monkeypatch.setattr(mounts_module, "_shown_paths", lambda paths: [*listed(paths), (gone, gone)])
    with tempfile.TemporaryDirectory(dir="/tmp") as gone_later:
        words = command_line(mechanism, ["true"], Path("/tmp"))
        assert gone_later in words and str(gone) not in words
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_the_judges_own_folders_are_not_shown(tmp_path):
    """Only a build's own folder is shown; another's lies beside it."""
    other, own = tmp_path / "other", tmp_path / "own"
    for folder in (other, own):
        folder.mkdir()
    ended = cage.run(["sh", "-c", f"ls {tmp_path}; touch made; ls"], own, View(writable=(own,)))
    assert ended.stdout == b"own\nmade\n" and (own / "made").exists() and os.listdir(other) == []
