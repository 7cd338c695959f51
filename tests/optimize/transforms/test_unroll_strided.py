"""Loops that process several iterations at a time: which ones, and that every iteration still happens once and in order."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, unroll_strided

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ["hipcc", "-O3", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942", "-DKERNEL=__attribute__((global))"]
# Each iteration records its index, and this trace must stay the same.
SOURCE = """\
KERNEL void k(int first, int n, int stride, int* trace, int* count) {
  for (int i = first; i < n; i += stride) trace[(*count)++] = i;
  for (int i = first; i < n; i += 2 * stride + 1) {
    if (*count > 500) trace[0] = 1;
    trace[(*count)++] = i;
  }
  if (n > 3)
    for (unsigned i = 0; i < n; i += stride) trace[(*count)++] = i;
  else
    trace[(*count)++] = -1;
}
KERNEL void escaped(int n, int stride, int* p) {
  int* other = &n;
  for (int i = 0; i < n; i += stride) p[i] = --*other;
}
KERNEL void refused(int n, int stride, int* p) {
  for (int i = 0; i < n; i += 4) p[i] = 1;
  for (int i = 0; i < n; i += p[0]) p[i] = 1;
  for (int i = 0; i < n; i += stride) { p[i] = 1; if (p[i + 1]) break; }
  for (int i = 0; i < n; i += stride) { p[i] = 1; n -= 1; }
  for (int i = 0; i < n; i += stride) { p[i] = 1; i += 1; }
  for (long i = 0; i < n; i += stride) p[i] = 1;
  for (int i = 0; i < unsigned(n); i += stride) p[i] = 1;
  for (int i = 0; i <= n; i += stride) p[i] = 1;
  for (int i = 0; i < n; i += stride) __builtin_amdgcn_s_barrier();
}
"""


def answers(kernel: str, factors: tuple[int, ...] = (3,)) -> list[Proposal | Refusal]:
    source = read(Path("x.hip"), COMMAND, text=SOURCE.encode())
    return list(unroll_strided.propose(source, source.kernel(kernel), factors))


def test_only_strided_loops_that_nothing_disturbs_are_proposed():
    assert [(type(answer), answer.line) for answer in answers("k")] == [(Proposal, 2), (Proposal, 3), (Proposal, 8)]
    assert [type(answer) for answer in answers("refused")] == [Refusal] * 9
    assert [type(answer) for answer in answers("escaped")] == [Refusal]


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The output of the loops on the host, unchanged and with each factor."""
    folder = tmp_path_factory.mktemp("batch")
    libraries = []
    for factor in (1, 2, 3, 8):
        edits = [e for p in answers("k", (factor,)) if isinstance(p, Proposal) for e in p.edits] if factor > 1 else []
        text = apply_edits(SOURCE.encode(), edits).decode().split("KERNEL void escaped")[0]
        path = folder / f"{factor}.so"
        command = ["g++", "-O1", "-shared", "-fPIC", '-DKERNEL=extern "C"', "-x", "c++", "-", "-o", str(path)]
        subprocess.run(command, input=text, text=True, check=True)
        libraries.append(ctypes.CDLL(str(path)))

    def run(library, first: int, n: int, stride: int) -> list[int]:
        trace, count = (ctypes.c_int * 4000)(), ctypes.c_int(0)
        library.k(first, n, stride, trace, ctypes.byref(count))
        return trace[: count.value]

    return lambda *arguments: [run(library, *arguments) for library in libraries]


@given(st.integers(-50, 50), st.integers(-50, 900), st.integers(1, 70))
def test_the_same_iterations_in_the_same_order(traces, first, n, stride):
    plain, *changed = traces(first, n, stride)
    assert changed == [plain] * len(changed)


def test_strides_whose_multiples_exceed_32_bits(traces):
    """Six strides would wrap around, so the test before several iterations is done in 64 bits."""
    plain, *changed = traces(0, 2**30, 2**28 + 1)
    assert len(plain) > 6 and changed == [plain] * len(changed)
