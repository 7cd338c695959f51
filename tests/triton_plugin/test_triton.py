"""Triton from the package index on the software device: the documents' examples, and what needs Triton itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]

HERE = Path(__file__).parent
DOCUMENTS = HERE.parents[1]
TILES = f"""
import sys
sys.path.insert(0, {str(HERE.parents[1] / "testbed")!r})
import numpy as np
import matmul
a, c = np.ones((256, 256), np.float16), np.empty((256, 256), np.float16)
for stages in (1, 2, 3):
    options = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=stages)
    matmul.matmul.fn[(4, 4)](a, a, c, 256, 256, 256, **options)
"""


@pytest.mark.parametrize("document", ["README.md", "docs/guide/triton.md"])
def test_the_example_of_a_document_names_the_line_to_change(document: str, python: Path, rocm_perf, tmp_path: Path):
    (example,) = re.findall(r"(?ms)^```python\n(.*?)^```", (DOCUMENTS / document).read_text("utf-8"))
    (tmp_path / "softmax.py").write_text(example)
    ran = rocm_perf("profile", python, "softmax.py")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"Kernel  softmax, 100\.0 %", ran.stdout)
    line = re.search(rf"Line    {re.escape(str(tmp_path))}/softmax\.py:(\d+): ", ran.stdout)
    assert re.search(r"tl\.(load|sum|max|exp)", example.splitlines()[int(line[1]) - 1])


def test_what_works_without_pytorch(python: Path, rocm_perf):
    ran = rocm_perf("run", python, HERE / "without_torch.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["autotune", "benchmark", "warm-up", "descriptor", "dlpack"]


def test_configurations_of_a_function_are_told_apart(python: Path, rocm_perf, tmp_path: Path):
    ran = rocm_perf("profile", "--no-deep-analysis", python, HERE / "without_torch.py")
    assert ran.returncode == 0, ran.stderr
    table = parquet.read_table(tmp_path / "without_torch.py.rocm-perf" / "dispatches.parquet")
    tuned = {name for name in table.column("name").to_pylist() if name.startswith("accumulate")}
    assert tuned == {"accumulate__BLOCK_64__num_warps_1", "accumulate__BLOCK_1024__num_warps_4"}


def test_what_works_with_pytorch(torch_python: Path, rocm_perf):
    ran = rocm_perf("run", torch_python, HERE / "with_torch.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "devices",
        "copies",
        "modules",
        "gradients",
        "pointers",
        "random numbers",
        "events",
        "matrix products",
    ]


def test_the_report_speaks_of_options_and_stages(python: Path, rocm_perf, tmp_path: Path):
    (tmp_path / "tiles.py").write_text(TILES)
    ran = rocm_perf("profile", "--json", python, "tiles.py")
    assert ran.returncode == 0, ran.stderr
    found = {one["triton"][0]["options"]["num_stages"]: one for one in json.loads(ran.stdout)["analysis"]["kernels"]}
    assert [found[wanted]["triton"][0]["stages"] for wanted in (1, 2, 3)] == [1, 2, 3]
    for one in found.values():
        (of_triton,) = one["triton"]
        assert of_triton["constants"].items() >= {"BLOCK_M": "64", "BLOCK_N": "64", "BLOCK_K": "32"}.items()
        assert all("mfma" in name for name in of_triton["matrix_instructions"]) and 128 in map(int, of_triton["loads"])
    page = (tmp_path / "tiles.py.rocm-perf" / "report.html").read_text("utf-8")
    assert "its loops reach all 3 stages" in page and "buffer_load {contiguity = 8" in page


def test_a_prompt_has_the_function_and_the_evidence(python: Path, rocm_perf, tmp_path: Path):
    (example,) = re.findall(r"(?ms)^```python\n(.*?)^```", (DOCUMENTS / "README.md").read_text("utf-8"))
    (tmp_path / "softmax.py").write_text(example)
    kernel = ("--triton", "softmax.py::softmax", "--python", python)
    assert (ran := rocm_perf("profile", python, "softmax.py")).returncode == 0, ran.stderr
    prompt, again = (rocm_perf("prompt", *kernel, *more) for more in ((), ("--profile", "softmax.py.rocm-perf")))
    assert prompt.returncode == 0, prompt.stderr
    assert prompt.stdout == again.stdout and str(tmp_path) not in prompt.stdout
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```", prompt.stdout)
    assert block in example and block.startswith("@triton.jit\ndef softmax(")
    assert re.search(r"softmax\.py:\d+.*tl\.load\(x", prompt.stdout) and "with BLOCK=1024" in prompt.stdout
    other = rocm_perf("prompt", "--triton", "softmax.py::other", "--python", python, "--profile", "softmax.py.rocm-perf")
    assert other.returncode == 34 and "name one of softmax" in other.stderr
