"""`rocm-perf llm-optimize --triton` with a scripted model, on Triton from the package index: wrong rewrites are rejected, a
right one is accepted, and the run can be replayed from its journal.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from rocm_perf_lab.triton_source import TritonSource
from triton_candidates import MATMUL, SOFTMAX, WRONG, changed, kernel_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]

# Prints the next answer from a file each time it is asked.
MODEL = """\
import json, pathlib, sys
sys.stdin.read()
file = pathlib.Path(sys.argv[1])
first, *rest = json.loads(file.read_text())
file.write_text(json.dumps([*rest, first]))
print(first)
"""
LONG_ROWS = SOFTMAX.replace("(200, 333)", "(600, 999)")
ONE_LOOP = [
    (
        """\
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(x + row + at, mask=at < columns, other=-float("inf")) - top), 0)
""",
        "    total = 0.0\n",
    ),
    (
        """\
        top = tl.maximum(top, tl.max(tl.load(x + row + at, mask=at < columns, other=-float("inf")), 0))
    total = 0.0
""",
        """\
        value = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
        higher = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(value - higher), 0)
        top = higher
""",
    ),
    ('    top = -float("inf")\n', '    top = -float("inf")\n    total = 0.0\n'),
]


def function_of(script: str, name: str) -> str:
    source = TritonSource(Path("a.py"), script.encode())
    span = source.kernel(name).span
    return source.text[span.start : span.end].decode()


def cheats(script: str) -> list[str]:
    """Wrong functions that the script can launch like its own."""
    name, found = kernel_of(script), []
    for _, base, replacements, _ in WRONG:
        if base == script:
            new = changed(script, replacements)
            if new.replace(function_of(new, name), "") == script.replace(function_of(script, name), ""):
                found.append(function_of(new, name))
    return found


@pytest.fixture
def asked(rocm_perf, newest_python, tmp_path):
    """asked(script, answers, *options): the document of a run on the script with these answers."""

    def run(script: str, answers: list[str], *options: object) -> dict:
        (tmp_path / "model.py").write_text(MODEL)
        (tmp_path / "answers.json").write_text(json.dumps([f"```python\n{answer}\n```\n" for answer in answers]))
        (tmp_path / "script.py").write_text(script)
        model = shlex.join([sys.executable, str(tmp_path / "model.py"), str(tmp_path / "answers.json")])
        words = ("--provider", "command", "--model", model, "--ulps", "4", "--accept", "modelled", "-y", "--json", *options)
        kernel = f"script.py::{kernel_of(script)}"
        ran = rocm_perf("llm-optimize", "--triton", kernel, "--python", newest_python, *words, timeout=1500)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return run


@pytest.mark.parametrize("script", [MATMUL, SOFTMAX], ids=["matmul", "softmax"])
def test_wrong_functions_are_rejected(asked, tmp_path, script):
    wrong = cheats(script)
    assert len(wrong) >= 2
    found = asked(script, wrong, "--max-iters", "1", "--candidates", -(-len(wrong) // 3))
    assert len(found["answers"]) >= len(wrong) and not found["accepted"]
    assert {one["step"] for one in found["answers"]} <= {"launch", "equivalence", "measurement"}
    assert (tmp_path / "script.py").read_text() == script


def test_a_right_function_is_accepted_after_a_wrong_one(asked, rocm_perf, tmp_path):
    wrong = function_of(SOFTMAX, "softmax").replace("other=-float", "other=float")
    right = function_of(changed(LONG_ROWS, ONE_LOOP), "softmax")
    escape = function_of(SOFTMAX, "softmax") + "\n    np.save('x', 1)"
    found = asked(LONG_ROWS, [escape, wrong, right], "--max-iters", "1")
    assert [one["step"] for one in found["answers"]] == ["answer", "equivalence", None]
    assert found["accepted"] and found["iterations"][0]["kernel_time_ratio"] < 0.95
    assert right in (tmp_path / "script.optimized.py").read_text()
    run = Path(found["run"])
    again = rocm_perf("llm-optimize", "--replay-journal", run, "--json")
    assert again.returncode == 0, again.stderr
    replayed = json.loads(again.stdout)
    assert [replayed[name] for name in ("answers", "iterations")] == [found[name] for name in ("answers", "iterations")]
