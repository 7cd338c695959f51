"""Equal functions in different files are compiled separately, and a function is recognised by its file."""

from __future__ import annotations

import types
from pathlib import Path

from rocm_perf_triton import source_files


class Source:
    """Like Triton's class: its hash depends only on the function's text."""

    def __init__(self, function):
        self.fn = types.SimpleNamespace(fn=function)

    def hash(self) -> str:
        return "text"


def function_in(path: Path):
    path.write_text("def kernel(): pass\n")
    found: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), found)
    return found["kernel"]


def test_the_file_is_part_of_the_identity_of_a_kernel(tmp_path: Path):
    source_files.install(Source)
    first, second = (function_in(tmp_path / name) for name in ("a.py", "b.py"))
    assert Source(first).hash() == Source(function_in(tmp_path / "a.py")).hash() != Source(second).hash()
