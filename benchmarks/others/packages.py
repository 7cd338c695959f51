"""Debian packages unpacked into a folder: nothing is installed, and nothing outside the folder changes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

# ROCm is in experimental; packages that are already installed are not fetched again.
_PLAN = ("apt-get", "-s", "install", "--no-install-recommends", "-t", "experimental")


def unpack(package: str, cache: Path, *further_packages: str) -> Path:
    """Unpack the package, the additional ones, and their dependencies; return the folder. Raises CannotUnpack."""
    folder = cache / package
    marker = folder / ".whole"
    if not marker.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, version in packages_to_install(package, *further_packages):
            subprocess.run(["dpkg", "-x", str(download(name, version, cache / "debs")), str(folder)], check=True)
        marker.touch()
    return folder


class CannotUnpack(Exception):
    pass


def packages_to_install(*packages: str) -> list[tuple[str, str]]:
    """The (name, version) pairs of the packages and of what would be installed with them."""
    planned = subprocess.run([*_PLAN, *packages], capture_output=True, text=True)
    if planned.returncode:
        lines = planned.stdout.splitlines()
        raise CannotUnpack(
            next((" ".join(line.split()) for line in lines if "Depends:" in line), planned.stderr.strip()[-200:])
        )
    return re.findall(r"(?m)^Inst (\S+) (?:\[[^]]*\] )?\((\S+)", planned.stdout)


def download(name: str, version: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not (package_file := _fetched(name, version, folder)):
        completed = subprocess.run(["apt-get", "download", f"{name}={version}"], cwd=folder, capture_output=True, text=True)
        if completed.returncode or not (package_file := _fetched(name, version, folder)):
            raise CannotUnpack(f"{name}: {completed.stderr.strip()[-200:]}")
    return package_file


def _fetched(name: str, version: str, folder: Path) -> Path | None:
    escaped = version.replace(":", "%3a")
    return next((path for path in folder.glob(f"{name}_*.deb") if path.name.startswith(f"{name}_{escaped}_")), None)
