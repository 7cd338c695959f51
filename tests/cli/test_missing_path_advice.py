"""Typical missing_path_advice, each with an error that makes the next command obvious."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.cli import missing_path_advice
from rocm_perf_lab.errors import MissingInputError, RocmPerfError, TraceError

CUDA = """#include <cuda_runtime.h>
__global__ void k(float* c) { c[threadIdx.x] = 1; }
int main() { float* c; cudaMalloc((void**)&c, 256); k<<<1, 64>>>(c); return cudaDeviceSynchronize(); }
"""


@pytest.fixture
def said(rocm_perf, tmp_path):
    """said("profile", ...) -> (exit code, last line of stderr), in a folder with a source, a script and a subfolder."""
    for name, text in {"app.hip": "int main() {}", "a.cu": CUDA, "s.py": "pass", "plain": "x"}.items():
        (tmp_path / name).write_text(text)

    def run(*words: str) -> tuple[int, str]:
        done = rocm_perf(*words)
        assert done.stdout == "" and "Traceback" not in done.stderr
        return done.returncode, done.stderr.splitlines()[-1]

    return run


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["profil", "./app"], 2, "Did you mean 'profile'?"),
        (["profile", "--rus", "1", "./plain"], 2, "No such option '--rus'. Did you mean '--runs'?;"),
        (["profile", "--runs", "x", "./plain"], 2, "Invalid value for '--runs': 'x' is not a whole number;"),
        (["profile", "--timeout", "x", "./plain"], 2, "'x' is not a number;"),
        (["profile", "--counters", "X", "./plain"], 2, "No such option '--counters'; `rocm-perf profile --help`"),
        (["replay", "full-vm", "capture"], 2, "unexpected extra argument (capture); `rocm-perf replay full-vm --help`"),
        (["replay", "--device", "gfx942"], 2, "'--device': options come after one of export, full-vm, reserve-check;"),
        (["./plain"], 2, "To profile a program: rocm-perf profile ./plain"),
        (["profile", "app.hip"], 66, "it is a source file: compile it (hipcc -O3 -g app.hip -o ./app) and name ./app"),
        (["profile", "./a.cu"], 66, "if it is CUDA, translate it first (hipify-perl); compile it"),
        (["profile", "s.py"], 66, "name its interpreter first: python3 s.py"),
        (["profile", "./plain"], 66, "run `chmod +x ./plain`"),
        (["profile", "."], 66, ". is a folder; name the program itself"),
        (
            ["prompt", "python3", "s.py"],
            2,
            "python3 is Python, but this command changes kernels in HIP sources; for a Triton function, name it with --triton",
        ),
        (["optimize", "python3", "s.py", "--dry-run"], 2, "--auto-approve or --dry-run"),
        (
            ["optimize", "--dry-run", "--trust-candidates", "a.cu"],
            36,
            "this is CUDA: translate it to HIP first (`hipify-perl a.cu`)",
        ),
    ],
)
def test_the_next_command_is_obvious(said, words, code, text):
    found, line = said(*words)
    assert (found, text in line) == (code, True), line


def test_help_of_a_command(rocm_perf):
    assert rocm_perf("help", "run").stdout == rocm_perf("run", "--help").stdout != ""
    assert rocm_perf("help").stdout == rocm_perf("--help").stdout


@pytest.fixture
def in_root_of_dev(monkeypatch, tmp_path):
    monkeypatch.setattr(missing_path_advice, "ROOT_OF_DEV", tmp_path)


@pytest.mark.parametrize("path", ["/data/trace.db", "/opt/nothing/x", "../../../../../../nothing/x"])
def test_a_path_outside_of_what_dev_shows_gets_advice(in_root_of_dev, path):
    error = MissingInputError(f"there is no trace {path}", "give one")
    assert "./dev shows the folder that it is started in" in missing_path_advice.advice(error)
    assert missing_path_advice.advice(TraceError(f"{path} is damaged")) == ""


def test_a_path_below_what_dev_shows_gets_no_advice(in_root_of_dev):
    for what in ("./app does not exist", "/proc/nothing does not exist", "/bin/sh is not a trace"):
        assert missing_path_advice.advice(MissingInputError(what)) == ""


def test_outside_of_the_root_of_dev_no_advice_is_added(monkeypatch):
    monkeypatch.setattr(missing_path_advice, "ROOT_OF_DEV", Path("/nonexistent"))
    assert missing_path_advice.advice(MissingInputError("/data/x does not exist")) == ""


def test_a_package_without_native_parts_names_one_that_has_them(monkeypatch, tmp_path):
    from rocm_perf_lab import native

    monkeypatch.setattr(native, "_PACKAGE", tmp_path / "lib" / "python" / "site-packages" / "rocm_perf_lab")
    monkeypatch.delenv(native.NATIVE_DIR_VARIABLE, raising=False)
    with pytest.raises(RocmPerfError, match="this package has no native parts: install the wheel for Linux"):
        native.device_library()
