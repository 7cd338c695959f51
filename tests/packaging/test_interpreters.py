"""The wheel in a real environment for every Python on this machine, installed from the package index."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import needs
import rocpd_database
from rocpd_database import Dispatch

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MAX_MB = 150  # added to an empty environment


def interpreter(version: str) -> str:
    """A program that runs here, from the system or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python3"))]
    for program in filter(None, found):
        if subprocess.run([program, "-c", "import ctypes, sqlite3, ssl, venv"], capture_output=True).returncode == 0:
            return program
    pytest.skip(f"no Python {version} here")


def megabytes(folder: Path) -> int:
    return int(subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True).stdout.split()[0])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_install_and_analyse(wheel, tmp_path, version):
    needs.program("du")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "venv"], check=True, env=clean)
    before = megabytes(tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    subprocess.run([programs / "pip", "install", "-q", wheel], check=True, env=clean)
    assert megabytes(tmp_path / "venv") - before < MAX_MB
    rocpd_database.write(tmp_path / "t.db", [Dispatch("k(int)", 0, 1000), Dispatch("g(int)", 1100, 1500)])
    for line in ("analyze -o run t.db", "report run", "compare run t.db", "export t.db --csv t"):
        words = [programs / "rocm-perf", *line.split()]
        done = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "run" / "report.html").exists()
    # Once the project is installed, an extra needs no index that holds it.
    subprocess.run([programs / "pip", "install", "-q", "rocm-perf-lab[perfetto]"], check=True, env=clean)
    done = subprocess.run([programs / "rocm-perf", "export", "t.db", "--perfetto", "p"], cwd=tmp_path, env=clean)
    assert done.returncode == 0
