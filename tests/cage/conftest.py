"""Cages of each kind, for root and for an ordinary user, each started by a separate process: see driver.py."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import needs
from rocm_perf_lab.cage import CageResult

ORDINARY = 65534
PYTHON = os.path.realpath(sys.executable)
_SOURCE = Path(__file__).parents[2] / "src" / "rocm_perf_lab"
_NATIVE = Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or Path(__file__).parents[2] / "build")


class ReplayCage:
    """kind, user: those of its cages. home: a home folder; folder: the current folder, below it; out: the writable folder."""

    def __init__(self, kind: str, user: str, base: Path):
        self.kind, self.user = kind, user
        self.home, self.folder, self.out, self.elsewhere = (
            base / name for name in ("home", "home/project", "out", "elsewhere")
        )
        for folder in (self.home, self.folder, self.out, self.elsewhere):
            folder.mkdir()
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id").write_text("SECRET KEY")
        (self.folder / "here").write_text("as it was")
        driver = shutil.copy(Path(__file__).with_name("driver.py"), base)
        shutil.copytree(_SOURCE, base / "source" / "rocm_perf_lab", ignore=shutil.ignore_patterns("__pycache__", "_native"))
        if (writer := _NATIVE / "bin" / "rocmperf-rocpd-writer").exists():
            (base / "native").mkdir()
            shutil.copy(writer, base / "native")
        if user != "own":
            for path in (base, *base.rglob("*")):
                os.chown(path, int(user), int(user))
        self.process = subprocess.Popen(
            [PYTHON, "-S", driver, base / "source", kind, user],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=base,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "OPENAI_API_KEY": "SECRET", "MYSECRET": "SECRET",
                 "ROCM_PERF_LAB_NATIVE_DIR": str(base / "native")},
        )  # fmt: skip
        said = json.loads(self.process.stdout.readline() or '{"works": false}')
        self.works, self.overlays = said["works"], said.get("overlays")

    def ask(self, command: list[str], only_words: bool = False, view: dict | None = None, **limits: Any) -> dict:
        request = {
            "command": command,
            "folder": str(self.folder),
            "view": {"writable": [str(self.out)]} | (view or {}),
            "limits": {"seconds": 30.0} | limits,
            "environment": {},
            "only_words": only_words,
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def run(self, command: list[str], view: dict | None = None, **limits: Any) -> CageResult:
        said = self.ask(command, view=view, **limits)
        return CageResult(**said | {name: base64.b64decode(said[name]) for name in ("stdout", "stderr")})

    def python(self, code: str, *arguments: object, view: dict | None = None, **limits: Any) -> CageResult:
        return self.run([PYTHON, "-I", "-S", "-c", textwrap.dedent(code), *map(str, arguments)], view, **limits)


def _caged(kind: str, user: str) -> Iterator[ReplayCage]:
    if user != "own" and os.getuid() != 0:
        needs.lacking("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="cage-") as folder:
        base = Path(folder).resolve()
        base.chmod(0o755)
        caged = ReplayCage(kind, user, base)
        try:
            if not caged.works:
                needs.lacking(f"no cage by {kind} here")
            yield caged
        finally:
            caged.process.kill()
            caged.process.communicate()


@pytest.fixture(
    scope="package", params=[(k, u) for k in ("bubblewrap", "namespaces") for u in ("own", str(ORDINARY))], ids="-".join
)
def caged(request) -> Iterator[ReplayCage]:
    yield from _caged(*request.param)


@pytest.fixture(scope="package")
def uncaged() -> Iterator[ReplayCage]:
    """The same without a cage, to show that an attack would succeed there."""
    yield from _caged("trusted", "own")
