"""The answer's bytes in place of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_run import COMMAND, LDS, PROGRAM
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.llm.splice import splice

pytestmark = pytest.mark.usefixtures("hipcc")
HEAD = """\
#define __global__ __attribute__((global))
namespace outer {
namespace {
"""
KERNEL = "template <typename T, int N>\n__global__ void scale(T* values) {\n  values[N] *= 2;\n}"
TAIL = "\n}\n}\n"


def test_the_answer_replaces_exactly_the_kernels_bytes_including_its_template_head():
    baseline = read(Path("x.hip"), COMMAND, text=(HEAD + KERNEL + TAIL).encode())
    code = "\n" + KERNEL.replace("*= 2", "+= values[N]") + "\n"
    text = apply_edits(baseline.text, [splice(baseline.kernel("scale"), code)])
    assert text == (HEAD + code.strip("\n") + TAIL).encode()


def test_the_kernel_of_a_program_includes_its_template_head():
    baseline = read(PROGRAM, COMMAND)
    edit = splice(baseline.kernel("softmax_naive"), LDS)
    assert baseline.text[edit.start : edit.end].startswith(b"__global__ __launch_bounds__(kWave) void softmax_naive(")
    assert baseline.text[edit.start : edit.end].endswith(b"\n}")
