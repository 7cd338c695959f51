"""Where unrolling is proposed, what it writes, and that the compiler applies it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, unroll

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ["hipcc", "-O3", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942"]
SOURCE = """\
#define __global__ __attribute__((global))
#define EACH(n) for (int q = 0; q < n; ++q) s += p[q]
__global__ void k(const float* p, float* out, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += p[i];
  if (n > 3) for (int i = 0; i < n; ++i) {
    s *= p[i];
  }
  for (int i = 0; i < 3; ++i) s += p[i];
  for (int i = 0; i < n; ++i) __builtin_amdgcn_s_barrier();
  for (int i = 0; i < n; ++i) { for (int j = 0; j < i; ++j) s += p[j]; }
  EACH(n);
#pragma unroll 2
  for (int i = 0; i < n; ++i) s += p[i];
  do s += p[int(s)]; while (s < 3);
  out[0] = s;
}
"""


@pytest.fixture(scope="module")
def answers():
    source = read(Path("x.hip"), COMMAND, text=SOURCE.encode())
    return source, list(unroll.propose(source, source.kernel("k"), (2, 4)))


def test_each_loop_is_proposed_or_refused_for_its_reason(answers):
    _, found = answers
    proposed = [(p.line, p.parameters["factor"]) for p in found if isinstance(p, Proposal)]
    assert proposed == [(5, 2), (5, 4), (6, 2), (6, 4), (9, 2), (11, 2), (11, 4), (15, 2), (15, 4)]
    reasons = {r.line: r.reason for r in found if isinstance(r, Refusal)}
    assert reasons.keys() == {10, 11, 12, 14}
    expected = {10: "barrier", 11: "not innermost", 12: "macro", 14: "author"}
    assert all(word in reasons[line] for line, word in expected.items())


def test_the_edit_adds_one_pragma_and_nothing_else(answers, tmp_path):
    source, found = answers
    for number, proposal in enumerate(p for p in found if isinstance(p, Proposal)):
        changed = apply_edits(source.text, proposal.edits).decode()
        pragma = f"#pragma unroll {proposal.parameters['factor']}"
        assert changed.count(pragma) == SOURCE.count(pragma) + 1
        mine = changed.replace(f"{pragma}\n", "", 1) if proposal.line < 13 else "".join(changed.rsplit(f"{pragma}\n", 1))
        assert mine.split() == SOURCE.split()
        path = tmp_path / f"{number}.hip"
        path.write_text(changed)
        made = subprocess.run([*COMMAND, "--offload-device-only", "-S", "-o", "-", path], capture_output=True, text=True)
        assert made.returncode == 0 and "-Wpass-failed" not in made.stderr and "ignored" not in made.stderr, made.stderr


def test_the_compiler_makes_that_many_loads_per_iteration(answers, tmp_path):
    source, found = answers

    def loads(text: bytes) -> int:
        (tmp_path / "x.hip").write_bytes(text)
        command = [*COMMAND, "--offload-device-only", "-S", "-o", "-", "x.hip"]
        listing = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        # An unrolled loop's loads may be one wide load: count dwords.
        widths = re.findall(r"\b(?:global_load|s_load)_dword(?:x(\d+))? ", listing)
        return sum(int(width or 1) for width in widths)

    by_factor = {
        p.parameters["factor"]: loads(apply_edits(source.text, p.edits))
        for p in found
        if isinstance(p, Proposal) and p.line == 5
    }
    assert loads(source.text) < by_factor[2] < by_factor[4]
