"""--device: how many software devices, and which commands take more than one."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("gfx942:5", "there can be 1 to 4 of them; write gfx942:4, or fewer"),
        ("gfx90a:3", "there can be 1 to 2 of them"),
        ("mi300a:0", "there can be 1 to 4 of them"),
        ("gfx942:", "there can be 1 to 4 of them"),
        ("gfx942:two", "there can be 1 to 4 of them"),
        ("hardware:2", "only software devices accept a number"),
        ("gfx900:2", "'gfx900' is not one of"),
    ],
)
def test_impossible_numbers(rocm_perf, choice: str, words: str) -> None:
    done = rocm_perf("run", "--device", choice, "/bin/true")
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("isolate", "--kernel", "k", "/bin/true"),
        ("gate", "a.hip", "b.hip", "/bin/true"),
        ("ceilings",),
        ("replay", "full-vm"),
    ],
)
def test_commands_for_one_device_refuse_more(rocm_perf, command: tuple[str, ...]) -> None:
    name, *words = command
    group = (name, words.pop(0)) if name == "replay" else (name,)
    done = rocm_perf(*group, "--device", "gfx942:2", *words)
    assert done.returncode == 2
    assert done.stderr.endswith("--device gfx942:2: only `profile` and `run` take several devices; write gfx942\n")
