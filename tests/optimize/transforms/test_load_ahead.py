"""Loads for several iterations at once: in which loops, and that every iteration still happens once and in order."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, load_ahead

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ["hipcc", "-O3", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942", "-DKERNEL=__attribute__((global))"]
SOURCE = """\
KERNEL void k(const int* in, const unsigned char* more, int first, int n, int stride, int* trace) {
  for (int i = first; i < n; i += stride) trace[i] = trace[trace[i] & 7] + in[i];
  for (int i = first; i < n; i += 3) {
    const int place = more[i] + in[2 * i - first];
    if (in[n - 1] > place) trace[place & 15] += in[i];
  }
  for (unsigned i = 1; i < 40; ++i) { trace[i] ^= more[i] * (more[i - 1] + in[i % 3]); }
}
KERNEL void refused(const int* in, int n, int stride, int* trace, int* bound) {
  for (int i = 0; i < n; ++i) trace[0] += in[5];
  for (int i = 0; i < n; ++i) if (trace[i]) trace[i] = in[i];
  for (int i = 0, k = 0; i < n; ++i) { trace[i] = in[i + k]; k += 2; }
  for (int i = 0; i < *bound; ++i) trace[i] = in[i];
  for (int i = 0; i < n; ++i) { if (trace[i] < 0) break; trace[i] = in[i]; }
  for (int i = 0; i < n; ++i) { int k = trace[i]; trace[i] = in[i + k]; }
  for (int i = n; i > 0; --i) trace[i] = in[i];
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i];
  trace[0] = sum;
}
"""


@pytest.fixture(scope="module")
def proposals():
    """Texts of the tested kernel by factor, as if its launches kept the promise."""
    source = read(Path("x.hip"), COMMAND, text=SOURCE.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load_ahead, "broken_in_source", lambda *_: None)
        return {factor: list(load_ahead.propose(source, source.kernel("k"), (factor,))) for factor in (2, 3, 8)}


def test_loops_that_something_else_controls_stay_unchanged():
    source = read(Path("x.hip"), COMMAND, text=SOURCE.encode())
    found = list(load_ahead.propose(source, source.kernel("refused"), (4,)))
    assert len(found) == 8 and not any(isinstance(one, Proposal) for one in found), found


def test_stores_in_the_loop_require_a_promise(proposals):
    assert [one.line for one in proposals[8]] == [2, 3, 7]
    assert [one.promises.unwritten for one in proposals[3]] == [("in",), ("more", "in"), ("more", "in")]


@pytest.fixture(scope="module")
def traces(tmp_path_factory, proposals):
    """The output of the loops on the host, unchanged and with each factor."""
    folder = tmp_path_factory.mktemp("ahead")
    libraries = []
    for factor in (1, *proposals):
        edits = [edit for one in proposals.get(factor, ()) for edit in one.edits]
        text = apply_edits(SOURCE.encode(), edits).decode().split("KERNEL void refused")[0]
        path = folder / f"{factor}.so"
        command = ["g++", "-O1", "-shared", "-fPIC", '-DKERNEL=extern "C"', "-x", "c++", "-", "-o", str(path)]
        subprocess.run(command, input=text, text=True, check=True)
        libraries.append(ctypes.CDLL(str(path)))

    def run(library, first: int, n: int, stride: int) -> list[int]:
        read_only = (ctypes.c_int * 512)(*(i * 37 % 91 for i in range(512)))
        bytes_ = (ctypes.c_ubyte * 512)(*(i * 11 % 251 for i in range(512)))
        trace = (ctypes.c_int * 512)(*range(512))
        library.k(read_only, bytes_, first, n, stride, trace)
        return list(trace)

    return lambda *arguments: [run(library, *arguments) for library in libraries]


@given(st.integers(0, 50), st.integers(1, 250), st.integers(1, 70))
def test_the_same_iterations_in_the_same_order(traces, first, n, stride):
    plain, *changed = traces(first, n, stride)
    assert changed == [plain] * len(changed)
