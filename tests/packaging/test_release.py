"""What the release workflow builds and may do: its packages, built by its own step."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.metadata import Metadata

import needs
from packaging_build import build

REPOSITORY = Path(__file__).resolve().parents[2]
JOBS = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text())["jobs"]
ROCM = {"libamd_comgr.so.3", "libhsa-runtime64.so.1"}
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


def test_only_the_publishing_job_may_identify_itself_and_it_runs_no_code_of_this_project():
    workflow = (REPOSITORY / ".github/workflows/release.yml").read_text()
    assert yaml.safe_load(workflow)["permissions"] == {} and "secrets." not in workflow
    assert JOBS["build"]["permissions"] == {"contents": "read"}
    publish = JOBS["publish"]
    assert publish["needs"] == "build" and publish["if"] == "github.event_name == 'push'"
    assert all("run" not in step and "checkout" not in step["uses"] for step in publish["steps"])
    used = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert len(used) == 5 and all(re.search(r"@[0-9a-f]{40}$", one) for one in used)


def test_a_version_that_differs_from_the_tag_is_refused_before_anything_is_compiled(tmp_path):
    needs.program("git")
    line = [REPOSITORY / "env" / "release.sh", tmp_path / "dist", "v99.1"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 65 and "is not version 99.1; build a clean clone of the tag" in done.stderr
    assert not (tmp_path / "dist").exists()


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> dict[str, Path]:
    """Kind -> package. Compiles the native parts (several minutes)."""
    folder = tmp_path_factory.mktemp("released")
    (step,) = [step for step in JOBS["build"]["steps"] if step.get("name") == "Packages"]
    assert set(step["env"]) == {"TAG", "DIST"}
    given = {"TAG": "", "DIST": str(folder / "dist"), "GIT_CONFIG_GLOBAL": str(folder / "gitconfig")}
    line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(line, cwd=REPOSITORY, env=os.environ | given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {"any": "-py3-none-any.whl", "linux": "_x86_64.whl", "sdist": ".tar.gz"}
    files = sorted((folder / "dist").iterdir())
    found = {kind: file for kind, end in kinds.items() for file in files if file.name.endswith(end)}
    assert len(found) == len(files) == 3
    return found


@pytest.mark.slow
def test_all_have_one_version_and_valid_metadata(released):
    metadata = []
    for kind in ("any", "linux"):
        with zipfile.ZipFile(released[kind]) as archive:
            (name,) = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            metadata.append(Metadata.from_email(archive.read(name), validate=True))
    with tarfile.open(released["sdist"]) as archive:
        (name,) = [name for name in archive.getnames() if re.fullmatch("[^/]+/PKG-INFO", name)]
        metadata.append(Metadata.from_email(archive.extractfile(name).read(), validate=True))
    assert {(one.name, str(one.version)) for one in metadata} == {("rocm-perf-lab", released["sdist"].name[14:-7])}


@pytest.mark.slow
def test_the_platform_wheel_runs_where_its_tag_says(released, tmp_path):
    wheel = released["linux"]
    tag = re.fullmatch(r".*-py3-none-manylinux_2_(\d+)_x86_64\.whl", wheel.name)
    assert tag, wheel.name
    wheel_abi = needs.module("auditwheel.wheel_abi")
    found = wheel_abi.analyze_wheel_abi(None, None, wheel, frozenset(ROCM), disable_isa_ext_check=False, allow_graft=False)
    assert found.overall_policy.name == f"manylinux_2_{tag[1]}_x86_64"
    with zipfile.ZipFile(wheel) as archive:
        parts = [name for name in archive.namelist() if "/_native/" in name]
        archive.extractall(tmp_path, parts)
    assert len(parts) == 6
    needed, versions = set(), set()
    for part in parts:
        shown = subprocess.run(["objdump", "-p", tmp_path / part], capture_output=True, text=True, check=True).stdout
        needed |= set(re.findall(r"NEEDED\s+(\S+)", shown))
        versions |= {int(version) for version in re.findall(r"GLIBC_2\.(\d+)", shown)}
    assert needed <= GLIBC | ROCM and max(versions) == int(tag[1])


@pytest.mark.slow
def test_a_wheel_compiled_in_another_folder_is_the_same_file(released, tmp_path):
    with tarfile.open(released["sdist"]) as archive:
        archive.extractall(tmp_path / "elsewhere", filter="data")
    (source,) = (tmp_path / "elsewhere").iterdir()
    epoch = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    given = {"SOURCE_DATE_EPOCH": epoch.stdout.strip(), "ROCM_PERF_LAB_NATIVE": "require", "TZ": "Asia/Tokyo"}
    again = build(source, tmp_path / "out", **given)
    assert (again.name, again.read_bytes()) == (released["linux"].name, released["linux"].read_bytes())
    for trace in (b"/home/", os.fsencode(REPOSITORY), os.fsencode(tmp_path)):
        with zipfile.ZipFile(again) as archive:
            assert not any(trace in archive.read(name) for name in archive.namelist() if "/_native/" in name)
