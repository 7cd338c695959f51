"""env/project.sh: when ./dev asks ninja whether the native parts are up to date with their sources."""

import os
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "env" / "project.sh"
STUBS = r"""
set -euo pipefail
repo=$PWD root=$PWD/root label=${LABEL:-root} stamp=stamp cache=$PWD/cache
. "$0"
lock() { :; }
hipcc_folder() { echo /opt; }
stage() { shift 2; "$@"; }
stage_if_slow() { shift 2; "$@"; }
inside() {
  echo "$1" >>asked
  [ "$1" = ninja ] || { : >build/build.ninja; return; }
  [ ! -e broken ] && mkdir -p build/bin build/lib build/testbed && : >build/lib/made.so
}
ensure_build
"""
LONG_AGO = 1_000_000_000


@pytest.fixture
def prepare(tmp_path: Path):
    """prepare() runs ensure_build in a small repository and returns what it started."""
    for folder in ("native/device", "testbed", "src/rocm_perf_lab/arch", "root"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("CMakeLists.txt", "native/device/a.cpp", "src/rocm_perf_lab/__init__.py", "root/stamp"):
        (tmp_path / file).write_text("1")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.utime(path, (LONG_AGO, LONG_AGO))

    def run(**environment: str) -> list[str]:
        (tmp_path / "asked").write_text("")
        subprocess.run(["bash", "-c", STUBS, SCRIPT], cwd=tmp_path, env={**os.environ, **environment}, check=False)
        return (tmp_path / "asked").read_text().split()

    assert run() == ["cmake", "ninja"]
    time.sleep(0.05)  # file systems count time in steps of up to 10 ms
    return run


def test_ninja_is_not_asked_where_nothing_has_changed(prepare):
    assert prepare() == []
    assert prepare(LABEL="machine") == ["cmake", "ninja"], "there, other things may have changed"


@pytest.mark.parametrize(
    "change",
    [
        lambda here: (here / "native/device/a.cpp").write_text("2"),
        lambda here: (here / "native/device/b.cpp").write_text("1"),
        lambda here: (here / "native/device/a.cpp").unlink(),
        lambda here: (here / "src/rocm_perf_lab/arch/counters.toml").write_text(""),
        lambda here: (here / "build/lib/made.so").unlink(),
    ],
    ids=["changed", "added", "removed", "a table", "a result removed"],
)
def test_ninja_is_asked_once_after_a_change(prepare, tmp_path, change):
    change(tmp_path)
    assert prepare() == ["ninja"]
    assert prepare() == []


def test_a_failed_build_is_tried_again(prepare, tmp_path):
    (tmp_path / "broken").touch()
    (tmp_path / "native/device/a.cpp").write_text("2")
    assert prepare() == ["ninja"]
    assert prepare() == ["ninja"]
    (tmp_path / "broken").unlink()
    assert prepare() == ["ninja"]
    assert prepare() == []


def test_another_environment_starts_over(prepare, tmp_path):
    (tmp_path / "root/stamp").write_text("2")
    assert prepare() == ["cmake", "ninja"]
