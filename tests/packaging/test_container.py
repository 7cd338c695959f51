"""env/Containerfile: what it pins, and an image that is built from it."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import needs
import rocpd_database
from rocpd_database import Dispatch

REPOSITORY = Path(__file__).resolve().parents[2]
CONTAINERFILE = REPOSITORY / "env" / "Containerfile"
STAMP = Path("/etc/rocm-perf-lab-root")  # from the Debian root that ./dev makes
EXTRAS = ("", "autotune", "fast", "mcp", "parquet", "perfetto")
PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void scale(float* x) { x[blockIdx.x * 64 + threadIdx.x] *= 2; }
int main() {
  float* x;
  if (hipMallocManaged(&x, 4096 * 4) != hipSuccess) return 1;
  for (int i = 0; i < 4096; i++) x[i] = i;
  scale<<<64, 64>>>(x);
  if (hipDeviceSynchronize() != hipSuccess) return 2;
  std::printf("%g\\n", x[4095]);
}
"""


def test_everything_is_pinned():
    text = CONTAINERFILE.read_text()
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}\nFROM \$\{BASE\}$", text, re.M)
    assert re.search(r"^ARG ARCHIVE=\d{8}T\d{6}Z\nARG MIRROR=$", text, re.M)
    installs = re.findall(r"pip install (.*)", text)
    assert len(installs) == 2 and all("--require-hashes" in one or "--no-deps --no-build-isolation" in one for one in installs)


def test_the_pins_are_what_this_project_needs():
    """As text, because the tests' own environment has other versions."""
    tomllib = needs.module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    metadata = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    project = metadata["project"]
    wanted = [*metadata["build-system"]["requires"], *project["dependencies"]]
    wanted += [one for extra in EXTRAS[1:] for one in project["optional-dependencies"][extra]]
    lines = (REPOSITORY / "env" / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^(\S+)==(\S+) \\\n    --hash=sha256:", lines, re.M))
    needed = [one for one in map(Requirement, wanted) if not one.marker or one.marker.evaluate({"python_version": "3.14"})]
    assert len(needed) > 15
    assert not [str(one) for one in needed if pinned.get(canonicalize_name(one.name), "0") not in one.specifier]


class Buildah:
    """buildah with a separate store. It needs no registry and no daemon."""

    def __init__(self, folder: Path):
        self.line = [needs_buildah(), "--storage-driver", "vfs", "--root", folder / "store", "--runroot", folder / "run"]

    def __call__(self, *arguments: str | Path) -> str:
        done = subprocess.run([*self.line, *arguments], capture_output=True, text=True, cwd=REPOSITORY)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout


def needs_buildah() -> str:
    found = shutil.which("buildah")
    return found or pytest.skip("no buildah; `./dev run apt-get install --no-install-recommends buildah netavark` brings it")


@pytest.fixture(scope="module")
def buildah():
    # On disk: the images are gigabytes in size.
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        tool = Buildah(Path(folder))
        tried = subprocess.run([*tool.line, "from", "scratch"], capture_output=True, text=True)
        if tried.returncode:
            pytest.skip(f"buildah cannot run here: {tried.stderr.strip()}")
        yield tool


@pytest.fixture(scope="module")
def base(buildah):
    """The base image, made without a registry from the system that this test runs in."""
    if not STAMP.exists():
        pytest.skip("the base image is made from the Debian root of ./dev, and this is another system")
    container = buildah("from", "scratch").strip()
    top = Path(buildah("mount", container).strip())
    folders = [name for name in ("bin", "etc", "lib", "lib64", "sbin", "usr", "var") if Path("/", name).exists()]
    tar = ["tar", "--one-file-system", "--exclude=./var/tmp/*", "--exclude=./var/cache/*", f"--exclude=.{STAMP}"]
    packed = subprocess.Popen([*tar, "-C", "/", "-c", *(f"./{name}" for name in folders)], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-C", top, "-x"], stdin=packed.stdout, check=True)
    assert packed.wait() == 0
    for name, mode in (("proc", 0o555), ("sys", 0o555), ("dev", 0o755), ("root", 0o700), ("tmp", 0o1777), ("var/tmp", 0o1777)):
        (top / name).mkdir(exist_ok=True)
        (top / name).chmod(mode)
    buildah("commit", "--rm", container, "localhost/debian:sid")
    return "localhost/debian:sid"


def arguments(base: str) -> list[str]:
    """Options for the build, so that it uses the configuration of this machine."""
    mirror = re.search(r"^deb (\S+)", Path("/etc/apt/sources.list").read_text(), re.M)[1]
    given = {"BASE": base, "MIRROR": mirror}
    given |= {name: os.environ[name] for name in ("PIP_INDEX_URL", "PIP_CERT") if os.environ.get(name)}
    return [word for name, value in given.items() for word in ("--build-arg", f"{name}={value}")]


@pytest.mark.slow
def test_an_image_profiles_and_analyses(buildah, base, tmp_path):
    """Compiles the native parts (several minutes)."""
    # No more than this process may open: buildah's default is a million files, which even root may not be allowed.
    most = ("--ulimit", "nofile={}:{}".format(*resource.getrlimit(resource.RLIMIT_NOFILE)))
    most += ("--ulimit", "nproc={}:{}".format(*resource.getrlimit(resource.RLIMIT_NPROC)))
    chroot = ("--isolation", "chroot")
    buildah("bud", *chroot, *most, *arguments(base), "-t", "rocm-perf-lab", "-f", CONTAINERFILE, ".")
    container = buildah("from", *most, "rocm-perf-lab").strip()

    def inside(*line: str) -> str:
        return buildah("run", *chroot, "--volume", f"{tmp_path}:/data", "--workingdir", "/data", container, "--", *line)

    assert re.fullmatch(r"rocm-perf\S* \S+\n", inside("rocm-perf", "--version"))
    rocpd_database.write(tmp_path / "t.db", [Dispatch("k(int)", 0, 1000), Dispatch("g(int)", 1100, 1500)])
    inside("rocm-perf", "analyze", "-o", "run", "t.db")
    assert json.loads((tmp_path / "run" / "dag.json").read_text())["dominant_symbol"] == "k(int)"
    assert (tmp_path / "run" / "report.html").exists()
    (tmp_path / "app.hip").write_text(PROGRAM)
    inside("hipcc", "-O2", "--offload-arch=gfx942", "app.hip", "-o", "app")
    document = json.loads(inside("rocm-perf", "profile", "--device", "gfx942", "--json", "./app"))
    assert document["profile"]["kernel"]["name"] == "scale(float*)" and document["profile"]["timing"] == "modelled"
