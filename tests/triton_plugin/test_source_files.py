"""Equal functions in different files are compiled apart, and a function is known again by its file."""

from __future__ import annotations

import types
from pathlib import Path

from rocm_perf_triton import source_files


class Source:
    """As Triton's: its hash depends on the function's text alone."""

    def __init__(self, function):
        self.fn = types.SimpleNamespace(fn=function)

    def hash(self) -> str:
        return "text"


def function_in(path: Path):
    path.write_text("def kernel(): pass\n")
    found: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), found)
    return found["kernel"]


def test_the_file_is_a_part_of_what_a_kernel_is_known_by(tmp_path: Path):
    source_files.install(Source)
    first, second = (function_in(tmp_path / name) for name in ("a.py", "b.py"))
    assert Source(first).hash() == Source(function_in(tmp_path / "a.py")).hash() != Source(second).hash()
