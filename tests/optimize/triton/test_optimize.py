"""`rocm-perf optimize --triton`: what it proposes for a script, and what it keeps, on Triton from the package index."""

from __future__ import annotations

import json

import pytest

from triton_candidates import SOFTMAX


@pytest.mark.slow
@pytest.mark.usefixtures("native_dir")
def test_changes_that_the_gate_accepts_are_kept(rocm_perf, newest_python, tmp_path):
    """For a kernel in a module that the script imports."""
    module, script = SOFTMAX.replace("(200, 333)", "(2000, 3330)").split("\n\nfor columns in ")
    (tmp_path / "kernels.py").write_text(module)
    (tmp_path / "script.py").write_text(f"import numpy as np\nfrom kernels import softmax\n\nfor columns in {script}")
    words = ("--ulps", "4", "--accept", "modelled", "-y", "--json", "--transforms", "full-blocks,reciprocal")
    ran = rocm_perf("optimize", "--triton", "script.py::softmax", "--python", newest_python, *words, "--max-iters", "1",
                    timeout=1500)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["accepted"] and found["iterations"][0]["kernel_time_ratio"] < 0.98
    assert found["source"].endswith("kernels.py") and (tmp_path / "kernels.py").read_text() == module
    kept = (tmp_path / "kernels.optimized.py").read_text()
    assert "columns // BLOCK * BLOCK" in kept or "1.0 / total" in kept


@pytest.mark.slow
@pytest.mark.usefixtures("native_dir")
def test_a_script_that_launches_nothing(rocm_perf, newest_python, tmp_path):
    (tmp_path / "script.py").write_text(SOFTMAX.split("\n\nfor columns in ")[0])
    ran = rocm_perf("optimize", "-y", "--triton", "script.py::softmax", "--python", newest_python)
    assert ran.returncode == 34 and "script.py launches no kernel, neither softmax nor any other" in ran.stderr


@pytest.mark.parametrize(
    "words, status, said",
    [
        (("--triton", "none.py::f"), 66, "none.py does not exist"),
        (("--triton", "script.py"), 2, "does not name a kernel"),
        (("--triton", "script.py::f", "--source", "a.hip"), 2, "are not for --triton"),
        (("--triton", "script.py::f", "--transforms", "unroll-strided"), 2, "there is no such transformation"),
        (("--triton", "script.py::f", "--python", "no-python"), 66, "no-python is not a program"),
        (("--triton", "script.py::f", "--python", "/bin/false"), 69, "/bin/false has no Triton; name the Python that has"),
    ],
)
def test_mistakes(rocm_perf, tmp_path, words, status, said):
    (tmp_path / "script.py").write_text("")
    ran = rocm_perf("optimize", "-y", *words)
    assert ran.returncode == status and said in ran.stderr
