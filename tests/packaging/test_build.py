"""Packages are reproducible, versioned by git, and hold what they should."""

import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

import needs
from packaging_build import build

EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}


def git(folder, *arguments):
    line = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", folder, *arguments]
    subprocess.run(line, check=True, capture_output=True)


@pytest.fixture(scope="module")
def sdist(repository, tmp_path_factory):
    return build(repository, tmp_path_factory.mktemp("sdist"), "sdist", ROCM_PERF_LAB_NATIVE="require", **EPOCH)


def test_an_sdist_holds_only_sources(sdist):
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
        assert {"hatch_build.py", "native", "src", "tests"} <= tops and "rocm_perf_lab" not in tops


def test_the_wheel_has_the_scripts_of_the_root_and_its_version(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        version = archive.read("rocm_perf_lab/_version.py").decode().split('"')[1]
        mode = archive.getinfo("rocm_perf_lab/env/packaged.sh").external_attr >> 16
    assert {f"rocm_perf_lab/env/{name}" for name in ("common.sh", "root.sh", "machine.sh", "install.sh", "enter.sh")} <= names
    assert wheel.name == f"rocm_perf_lab-{version}-py3-none-any.whl" and mode & 0o111
    assert not any("_native/" in name or name.endswith(".pyc") for name in names)


def copy(repository, folder):
    ignored = shutil.ignore_patterns("build", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(repository, folder, ignore=ignored, symlinks=True, copy_function=shutil.copy)  # with current timestamps
    return folder


def test_two_builds_in_different_folders_at_different_times_are_equal(repository, sdist, tmp_path):
    elsewhere = EPOCH | {"TZ": "Asia/Tokyo"}
    again = build(copy(repository, tmp_path / "clone"), tmp_path / "sdist", "sdist", **elsewhere)
    assert again.name == sdist.name and again.read_bytes() == sdist.read_bytes()
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    from_sdist = build(source, tmp_path / "wheel", **EPOCH)
    assert from_sdist.name == sdist.name.replace(".tar.gz", "-py3-none-any.whl")
    twice = build(copy(source, tmp_path / "other"), tmp_path / "twice", **elsewhere)
    assert from_sdist.read_bytes() == twice.read_bytes()


@pytest.mark.parametrize("tag", ["v1.2.3", None])
def test_the_version_is_the_tag_in_git(repository, tmp_path, tag):
    needs.program("git")
    clone = tmp_path / "clone"
    ignored = shutil.ignore_patterns(".git", "build", "__pycache__", "tests", ".*_cache", ".hypothesis")
    shutil.copytree(repository, clone, ignore=ignored)
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "all")
    if tag:
        git(clone, "tag", tag)
    name = build(clone, tmp_path / "out").name
    assert re.match(r"rocm_perf_lab-1\.2\.3-py3" if tag else r"rocm_perf_lab-0\.1\.1\.dev1\+g[0-9a-f]+-py3", name), name


def test_the_fallback_is_the_version_of_a_clone(repository):
    from rocm_perf_lab import __version__

    assert f'fallback_version = "{__version__}"' in (repository / "pyproject.toml").read_text()
