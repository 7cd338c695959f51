"""A Triton function's text, found by a line in the line table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.optimize.triton.script_file import source_of
from rocm_perf_lab.prompt.triton.function import function_at
from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules

SCRIPT = '''\
import triton
import triton.language as tl


@triton.jit
def inner(x):
    return x + 1


@triton.jit
def helper(x):
    return inner(x) * 2


def host(x):
    return kernel[(1,)](x, BLOCK=4)


@triton.autotune([], key=["n"])
@triton.jit
def kernel(out, n: "i32", BLOCK: tl.constexpr):
    """Doc."""
    tl.store(out + tl.arange(0, BLOCK), helper(n))


class Other:
    def kernel(self): ...
'''


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.parametrize("line", [19, 20, 21, 23])
def test_a_function_is_found_by_any_of_its_lines(script: Path, line: int):
    found = function_at(source_of(script), "kernel", line)
    (again,) = ast.parse(found.code.kernel.text).body
    assert (again.name, found.code.kernel.first_line, found.code.kernel.last_line) == ("kernel", 19, 23)
    assert [(one.name, one.type) for one in found.parameters] == [("out", ""), ("n", "'i32'"), ("BLOCK", "tl.constexpr")]
    assert found.attributes == ("@triton.autotune([], key=['n'])", "@triton.jit")


def test_called_functions_are_shown_in_the_order_of_the_file(script: Path):
    used = function_at(source_of(script), "kernel", 21).code.dependencies
    assert [ast.parse(one.text).body[0].name for one in used] == ["inner", "helper"]
    assert all(one.text == "\n".join(SCRIPT.splitlines()[one.first_line - 1 : one.last_line]) for one in used)


@pytest.mark.parametrize("name, line", [("kernel", 16), ("missing", 21)])
def test_a_line_elsewhere_is_refused(script: Path, name: str, line: int):
    with pytest.raises(SourceError, match="profile the script again"):
        function_at(source_of(script), name, line)


def test_text_that_is_not_python_is_refused(tmp_path: Path):
    (tmp_path / "broken.py").write_text("def kernel(:\n")
    with pytest.raises(SourceError, match="cannot be read as Python"):
        function_at(source_of(tmp_path / "broken.py"), "kernel", 1)


def test_rules_name_the_function_and_the_tolerance(script: Path):
    function = function_at(source_of(script), "kernel", 21)
    exact, near = ("\n".join(TritonAnswerRules(0.05, ulps).lines(function)) for ulps in (0, 4))
    assert "`kernel`" in exact and "5.0%" in exact and "bit for bit" in exact and "4 units in the last place" in near
