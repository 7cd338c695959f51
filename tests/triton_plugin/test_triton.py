"""Triton from the package index on the software device: the examples in the documents, and tests that need Triton itself."""

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


def test_configurations_of_a_function_are_distinguished(python: Path, rocm_perf, tmp_path: Path):
    ran = rocm_perf("profile", "--no-deep-analysis", python, HERE / "without_torch.py")
    assert ran.returncode == 0, ran.stderr
    table = parquet.read_table(tmp_path / "without_torch.py.rocm-perf" / "dispatches.parquet")
    tuned = {name for name in table.column("name").to_pylist() if name.startswith("accumulate")}
    assert tuned == {"accumulate__BLOCK_64__num_warps_1", "accumulate__BLOCK_1024__num_warps_4"}


@pytest.mark.parametrize(
    "target, instructions",
    [("gfx942", {"v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16"}),
     ("gfx950", {"v_mfma_f32_32x32x16_f16", "v_mfma_f32_32x32x16_bf16", "v_mfma_f32_32x32x64_f8f6f4", "ds_read_b64_tr_b8",
                 "ds_read_b64_tr_b16"})],
)  # fmt: skip
def test_products_equal_those_of_pytorch_and_use_the_instructions_of_the_target(torch_python, rocm_perf, target, instructions):
    ran = rocm_perf("run", "--device", target, torch_python, HERE / "products.py")
    assert ran.returncode == 0, ran.stderr
    assert instructions <= set(ran.stdout.split()), ran.stdout


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


def test_the_report_mentions_options_and_stages(python: Path, rocm_perf, tmp_path: Path):
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
    assert "its loops reach all 3 stages" in page
    assert re.search(r"buffer_load \{contiguity = 8|tt\.load \{amd\.pipeliner_part", page)  # the latter until Triton 3.5


def test_a_prompt_contains_the_function_and_the_evidence(python: Path, rocm_perf, tmp_path: Path):
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


PROFILED = """
import numpy as np, triton, triton.language as tl, triton.profiler as proton

def described(grid, kernel, arguments):
    return {"name": f"double {arguments['n']}", "bytes": 8 * arguments["n"]}

@triton.jit(launch_metadata=described)
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

x = np.ones(4096, np.float32)
for hook in (None, "triton"):
    session = proton.start(f"hook-{hook}", hook=hook)
    with proton.scope("outer"):
        double[(4,)](x, 1000, BLOCK=256)
        double[(16,)](x, 4096, BLOCK=256)
    proton.deactivate(session)
    double[(1,)](x, 5, BLOCK=256)
    proton.finalize(session)
print(triton.testing.do_bench(lambda: double[(16,)](x, 4096, BLOCK=256)))
"""


def test_proton_records_modelled_times(python: Path, rocm_perf, tmp_path: Path):
    (tmp_path / "profiled.py").write_text(PROFILED)
    ran = rocm_perf("run", python, "profiled.py")
    assert ran.returncode == 0, ran.stderr
    (scope,) = json.loads((tmp_path / "hook-None.hatchet").read_text("utf-8"))[0]["children"]
    (both,) = scope["children"]
    assert (scope["frame"]["name"], both["frame"]["name"], both["metrics"]["count"]) == ("outer", "double", 2)
    (scope,) = json.loads((tmp_path / "hook-triton.hatchet").read_text("utf-8"))[0]["children"]
    each = {one["frame"]["name"]: one["metrics"] for one in scope["children"]}
    assert {name: (one["count"], one["bytes"]) for name, one in each.items()} == {
        "double 1000": (1, 8000),
        "double 4096": (1, 32768),
    }
    benched = float(ran.stdout) * 1e6
    assert each["double 4096"]["time (ns)"] == pytest.approx(benched, rel=0.2)  # do_bench empties the caches
    assert both["metrics"]["time (ns)"] == pytest.approx(sum(one["time (ns)"] for one in each.values()), rel=0.2)
