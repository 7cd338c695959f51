"""`rocm-perf autotune --triton`: what it refuses, without Triton."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("script.py",), 2, "script.py does not name a kernel of a script; write script.py::kernel"),
        (("nowhere.py::scale",), 66, "nowhere.py does not exist"),
        (("script.py::scale", "--python", "no-python"), 66, "no-python is not a program; name the Python that has Triton"),
        (("script.py::scale", "--check", "true"), 2, "--check is not for --triton"),
        (("script.py::scale", "--write-config", "no/folder"), 73, "no does not exist; run `mkdir -p"),
    ],
)
def test_a_wrong_command_line(rocm_perf, tmp_path, words, code, said):
    (tmp_path / "script.py").write_text("")
    ran = rocm_perf("autotune", "--triton", *words)
    assert ran.returncode == code and said in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_options_for_tuning_triton_need_triton(rocm_perf):
    ran = rocm_perf("autotune", "--space", "space.json", "--cmd-template", "true", "word")
    assert ran.returncode == 2 and "are for --triton" in ran.stderr


def test_a_python_without_triton(rocm_perf, tmp_path, native_dir):
    (tmp_path / "script.py").write_text("")
    ran = rocm_perf("autotune", "--triton", "script.py::scale", "--python", sys.executable)
    assert ran.returncode == 69 and "has no Triton; name the Python that has Triton" in ran.stderr.splitlines()[-1]
