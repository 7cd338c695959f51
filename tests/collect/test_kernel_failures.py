"""A failed kernel is an error that names it, even though the program itself ends with 0."""

from __future__ import annotations

import pytest

from hip_compiler import compile_hip

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void fine(float* c) { c[threadIdx.x] = 1; }
__global__ void broken_axpy(float* c) { c[(size_t)threadIdx.x << 40] = 1; }
int main() {
  float* c; (void)hipMalloc(&c, 256);
  fine<<<1, 64>>>(c); (void)hipDeviceSynchronize();
  broken_axpy<<<1, 64>>>(c); (void)hipDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty.hip").write_text(SOURCE)
    compile_hip("-O1", "--offload-arch=gfx942", "faulty.hip", "-o", "faulty", cwd=folder)
    return folder / "faulty"


@pytest.mark.parametrize("words", [["run"], ["profile"], ["isolate", "--kernel", "fine"]])
def test_the_error_names_the_kernel(rocm_perf, faulty, words):
    done = rocm_perf(*words, "--device", "gfx942", faulty)
    assert (done.returncode, done.stdout) == (52, ""), done.stderr
    assert f"rocm-perf: error: a kernel of {faulty} failed: kernel broken_axpy(float*)" in done.stderr


@pytest.mark.parametrize("measure", ["gpu", "wall"])
def test_in_autotune_it_is_the_reason_for_the_failed_configuration(rocm_perf, faulty, tmp_path, measure):
    (tmp_path / "space.json").write_text('{"parameters": {"N": [1]}}')
    words = ["--space", "space.json", "--cmd-template", f"{faulty} {{N}}", "--measure", measure]
    done = rocm_perf("autotune", "--device", "gfx942", *words)
    assert done.returncode == 47 and "kernel broken_axpy(float*)" in done.stderr, done.stderr


@pytest.mark.slow
def test_optimize_reports_it_for_the_programs_own_run(rocm_perf, faulty):
    done = rocm_perf("optimize", "--device", "gfx942", "--dry-run", "--trust-candidates", faulty.with_suffix(".hip"))
    assert done.returncode == 52 and "kernel broken_axpy(float*)" in done.stderr, done.stderr
