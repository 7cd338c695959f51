"""The examples of the developer guide, followed in a copy of the sources: new files, edits to others, and the output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GUIDE = (REPOSITORY / "docs" / "DEVELOPER_GUIDE.md").read_text("utf-8")


@dataclass(frozen=True)
class Example:
    """files: path -> content. edits: path -> [(old text, new text)]. commands: each with its output."""

    name: str
    files: dict[str, str]
    edits: dict[str, list[tuple[str, str]]]
    commands: list[tuple[str, list[str]]]

    @property
    def is_native(self) -> bool:
        return any(path.startswith("native/") for path in self.edits)


def example(section: str) -> Example:
    files, edits, commands = {}, {}, []
    for language, block in re.findall(r"(?ms)^```(\w+)\n(.*?)^```", section):
        if language == "python" and block.startswith("# src/"):
            first, _, rest = block.partition("\n")
            files[first[2:]] = rest
        elif language == "diff":
            for path, hunks in re.findall(r"(?ms)^--- a/\S+\n\+\+\+ b/(\S+)\n(.*?)(?=^--- a/|\Z)", block):
                edits[path] = [edit(hunk) for hunk in re.split(r"(?m)^@@\n", hunks)[1:]]
        elif language == "console":
            for command in re.split(r"(?m)^\$ ", block)[1:]:
                line, _, printed = command.partition("\n")
                commands.append((line, printed.splitlines()))
    return Example(section.splitlines()[0], files, edits, commands)


def edit(hunk: str) -> tuple[str, str]:
    lines = [line or " " for line in hunk.splitlines()]
    return tuple("".join(line[1:] + "\n" for line in lines if line[0] in kept) for kept in (" -", " +"))


EXAMPLES = [found for section in GUIDE.split("\n## ") if (found := example(section)).edits]


def follow(one: Example, copy: Path) -> None:
    for path, content in one.files.items():
        assert not (copy / path).exists(), f"{path} is there already"
        (copy / path).write_text(content)
    for path, edits in one.edits.items():
        text = (copy / path).read_text()
        for before, after in edits:
            assert text.count(before) == 1, f"{path} has {text.count(before)} times:\n{before}"
            text = text.replace(before, after)
        (copy / path).write_text(text)


def see(one: Example, copy: Path, native: Path) -> None:
    (copy / "bin").mkdir()
    (copy / "bin" / "rocm-perf").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocm_perf_lab "$@"\n')
    (copy / "bin" / "rocm-perf").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{copy / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(copy / "src"),
        "ROCM_PERF_LAB_NATIVE_DIR": str(native),
        "COLUMNS": "200",
    }
    for command, printed in one.commands:
        ran = subprocess.run(
            ["sh", "-e", "-c", command], cwd=copy, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
        shown = " ".join(ran.stdout.split())
        assert all(line in shown for line in printed), f"{command}\n{ran.stdout}"


def test_there_is_an_example_for_each_kind_of_addition():
    added = ("an instruction", "a counter", "a metric", "GPU family", "a transformation", "section to the report",
             "format of the results", "search strategy", "provider")  # fmt: skip
    assert len(EXAMPLES) == len(added) and all(any(name in one.name for one in EXAMPLES) for name in added)
    assert all(one.commands and one.commands[-1][1] for one in EXAMPLES)


@pytest.mark.parametrize("one", [one for one in EXAMPLES if not one.is_native], ids=lambda one: one.name)
def test_examples_in_python(one: Example, native_dir, hipcc, tmp_path):
    shutil.copytree(REPOSITORY / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "testbed").symlink_to(REPOSITORY / "testbed")
    (tmp_path / "build").symlink_to(native_dir)
    follow(one, tmp_path)
    style = [
        "ruff",
        "check",
        "--config",
        REPOSITORY / "pyproject.toml",
        *(tmp_path / path for path in {**one.files, **one.edits}),
    ]
    checked = subprocess.run([sys.executable, "-m", *style], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    see(one, tmp_path, native_dir)


@pytest.mark.slow
def test_examples_in_native_code(native_dir, hipcc, tmp_path):
    """All together, since each of them would need a build."""
    native = [one for one in EXAMPLES if one.is_native]
    for folder in ("src", "native", "testbed", "tests"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "CMakeLists.txt", tmp_path)
    for one in native:
        follow(one, tmp_path)
    for command in (["-G", "Ninja", "-S", ".", "-B", "build"], ["--build", "build"]):
        built = subprocess.run(["cmake", *command], cwd=tmp_path, capture_output=True, text=True)
        assert built.returncode == 0, built.stdout[-3000:]
    for one in native:
        shutil.rmtree(tmp_path / "bin", ignore_errors=True)
        see(one, tmp_path, tmp_path / "build")
