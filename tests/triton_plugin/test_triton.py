"""Triton from the package index on the software device: the documents' examples, and what needs Triton itself."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]

HERE = Path(__file__).parent
DOCUMENTS = HERE.parents[1]


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
    assert ran.stdout.splitlines() == ["devices", "copies", "modules", "gradients", "pointers", "events"]
