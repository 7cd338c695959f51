"""Inputs on which the baseline's own result depends on the order of workgroups say nothing about a candidate."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).parents[1].joinpath("overlap.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
STORE = "  out[i % n] = i * 0.5f;"
LATE = "  if (i < 192) for (int k = 0; k < 9; ++k) *(volatile float*)(out + i % n);\n"


SUM = "  __hip_atomic_fetch_add(out, 1.0f / (i + 1), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"


@contextlib.contextmanager
def judging(program: Path, folder: Path):
    subprocess.run([*COMMAND, program, "-o", folder / "overlap"], check=True)
    captured = capture([str(folder / "overlap")], "wrapped", 0, folder, device="gfx942")
    options = GateOptions(equivalence=EquivalenceOptions(device="gfx942", seed=1), with_measurement=False)
    with judge_of(read(program, COMMAND), "wrapped", [captured], options) as gate:
        yield lambda text: gate.judge(text.encode())


@pytest.fixture(scope="module")
def judge(native_dir, tmp_path_factory):
    with judging(PROGRAM, tmp_path_factory.mktemp("order")) as judge:
        yield judge


def test_sizes_on_which_threads_write_to_one_place_are_dropped(judge):
    """Three of four waves wait for loads before they store, so different threads win where n is less than the workgroup
    size."""
    verdict = judge(PROGRAM.read_text().replace(STORE, LATE + STORE))
    assert verdict.accepted, verdict.rejection
    (step,) = [step for step in verdict.steps if step.step == "equivalence"]
    cases = step.evidence.captures[0].cases
    assert any("order of workgroups" in outcome for outcome in cases.values()), cases
    assert cases["captured inputs"] == "equal"


def test_a_baseline_whose_own_result_depends_on_the_order_is_named(native_dir, tmp_path):
    """Sums of floats with atomics: whatever the candidate does, it needs a tolerance."""
    program = tmp_path / PROGRAM.name
    program.write_text(PROGRAM.read_text().replace(STORE, SUM))
    with judging(program, tmp_path) as judge:
        rejection = judge(program.read_text().replace(SUM, SUM.replace("(i + 1)", "(1 + i)"))).rejection
    told = "its result depends on the order of workgroups or waves, as the baseline's does: allow a tolerance for sums"
    assert rejection is not None and told in rejection.reason, rejection


WALK = """
__global__ void wrapped(const int* start, const int* next, float* out, int n) {
  const int i = __builtin_amdgcn_workitem_id_x();
  BEFORE
  int at = start[i];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    sum = sum * 0.5f + at;
    at = NEXT[at];
  }
  out[i] = sum;
}
int main() {
  int start[256], next[100];
  for (int i = 0; i < 256; ++i) start[i] = i * 37 % 100;
  for (int i = 0; i < 100; ++i) next[i] = (i * 73 + 11) % 100;
  void *a, *b, *out;
  if (hipMalloc(&a, 1024) || hipMalloc(&b, 400) || hipMalloc(&out, 1024) || hipMemcpy(a, start, 1024, 1) ||
      hipMemcpy(b, next, 400, 1)) printf("no memory\\n");
  wrapped<<<1, 256>>>((int*)a, (int*)b, (float*)out, 8);
  float last = 0;
  if (hipMemcpy(&last, (float*)out + 255, 4, 2)) printf("the copy failed\\n");
  printf("%g\\n", last);
}
"""
STAGED = """__attribute__((shared)) static int copy[101];
  if (i < 101) copy[i] = i < 100 ? next[i] : 7;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""


def test_integers_that_make_the_baseline_read_beyond_a_table_are_dropped(native_dir, tmp_path):
    """Beyond the table, the baseline reads whatever happens to lie there; a candidate with a copy in the LDS reads something
    else."""
    program = tmp_path / PROGRAM.name
    text = PROGRAM.read_text()
    program.write_text(text[: text.index("// One lane works")] + WALK.replace("BEFORE", "").replace("NEXT", "next"))
    with judging(program, tmp_path) as judge:
        original = program.read_text()
        staged = original.replace("  int at", STAGED + "  int at").replace("at = next[at]", "at = copy[at]")
        verdict = judge(staged)
        wrong = judge(staged.replace("? next[i]", "? next[i ^ (next[1] != 84)]"))
    assert verdict.accepted, verdict.rejection
    (step,) = [step for step in verdict.steps if step.step == "equivalence"]
    outcomes = step.evidence.captures[0].cases
    assert "outside its buffers" in outcomes["integers just beyond the observed range"], outcomes
    assert wrong.rejection is not None and wrong.rejection.step == "equivalence"
