"""Functions with @triton.jit in the bytes of their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.triton_source import Edit, TritonSource

SCRIPT = """\
# ä: two bytes
import triton
import triton.language as tl


@triton.autotune(configs=[], key=["n"])
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    s = "ü"; at = tl.arange(0, BLOCK)
    while n > 0:
        for k in range(0, n):
            tl.store(x + at, k)


class Kernels:
    @triton.jit
    def inner(x):
        pass


def scale_on_host(x):
    scale[(1,)](x, 3, BLOCK=16)
"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_positions_are_byte_offsets(end):
    source = TritonSource(Path("a.py"), SCRIPT.replace("\n", end).encode())
    kernel = source.kernel("scale")
    text = source.text[kernel.span.start : kernel.span.end].decode()
    assert text.startswith("@triton.autotune") and text.endswith("tl.store(x + at, k)")
    assert kernel.span.line == 6 and kernel.constants == {"BLOCK"}
    loops = [source.text[one.span.start : one.span.end].decode() for one in kernel.all_loops()]
    assert [loop.split()[0] for loop in loops] == ["while", "for"] and loops[0].endswith(loops[1])
    arange = kernel.node.body[0].value if len(kernel.node.body) == 1 else kernel.node.body[1].value
    assert source.positions.text(arange) == "tl.arange(0, BLOCK)"


def test_methods_are_found_with_their_indentation():
    source = TritonSource(Path("a.py"), SCRIPT.encode())
    assert [one.name for one in source.kernels] == ["scale", "inner"]
    assert source.kernel("inner").indentation == "    "
    assert source.function_at("scale", 6) is source.function_at("scale", 12) is source.kernel("scale").node
    assert source.function_at("scale", 21) is None


def test_edits_give_another_source():
    source = TritonSource(Path("a.py"), SCRIPT.encode())
    span = source.kernel("inner").span
    changed = source.edited([Edit(span.start, span.end, "    @triton.jit\n    def inner(x): tl.store(x, 1)")])
    assert changed.kernel("scale").span == source.kernel("scale").span and b"tl.store(x, 1)" in changed.text
    assert source.state == SCRIPT.encode() != changed.state


@pytest.mark.parametrize(
    "text, words",
    [(b"def f(:\n", "cannot be read as Python"), (b"# \xff\n", "cannot be read as Python"), (b"x = 1\n", "has no functions k")],
)
def test_invalid_sources_are_refused(text, words):
    with pytest.raises(SourceError, match=words):
        TritonSource(Path("a.py"), text).kernel("k")
