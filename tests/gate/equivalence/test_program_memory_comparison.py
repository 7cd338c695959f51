"""A candidate that is right in every replay and wrong in its program, which checks only a part of the results."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess

import pytest

from gate_attacks import CORE, HONEST_TEXT, IN_THE_PROGRAM, SOURCE, USELESS, body
from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs
from rocm_perf_lab.gate.equivalence.program_memory_comparison import difference_in_program
from rocm_perf_lab.isolate import Capture, capture
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.hip_backend import HipBackend

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
BUILD = "hipcc -O3 -nogpuinc --offload-arch=gfx942 -Wno-unused-command-line-argument SOURCE -o BINARY"
# The address of its code distinguishes the program from a replay, which loads it elsewhere.
WHERE = """\
  static constexpr int here[2] = {{1, 2}};
  if (row >= 64 && (unsigned long)(here + (row & 1)) - {base}ul < {bytes}ul) out[row] = 0;
"""


def partly(text: str) -> str:
    for old, new in (
        ("check(got, first, count)", "check(got, first, 64)"),
        ("same(first, expected, count)", "same(first, expected, 64)"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


# Memory that differs between any two runs of the program or any two layouts of its code.
REMEMBERS = """\
__device__ float twice(float x) { return x * 2; }
__global__ void remembers(void** table) {
  if (lane()) return;
  table[0] = &hits, table[1] = table, table[2] = (void*)(unsigned long)&hits;
  if (table[1] == nullptr) hits = int(twice(hits));
}
"""
CALLED = """\
  void *table, *moment;
  long now[2];
  clock_gettime(0, now);
  if (hipMalloc(&table, 24) || hipMalloc(&moment, 24) || hipMemcpy(moment, now, 16, kH2D)) printf("no memory\\n");
  remembers<<<1, 64>>>((void**)table);
"""


def remembering(text: str) -> str:
    for old, new in (
        ("int atoi(", "int clock_gettime(int, long*);\nint atoi("),
        ("// another kernel, which", f"{REMEMBERS}// another kernel, which"),
        ("  static float got[most]", f"{CALLED}  static float got[most]"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The whole gate, and the address where the program loads its code."""
    with gate_of(partly(SOURCE.read_text()), tmp_path_factory.mktemp("partly")) as opened:
        yield opened


@contextlib.contextmanager
def gate_of(text, folder):
    source, program = folder / SOURCE.name, folder / "attacked"
    source.write_text(text)
    subprocess.run([word.replace("SOURCE", str(source)).replace("BINARY", str(program)) for word in BUILD.split()], check=True)
    one = capture([str(program)], "one::rows", 0, folder, device="gfx942")
    backend = HipBackend(
        find_build_target((str(source), str(program)), None, BUILD),
        folder,
        BackendOptions(pattern="one::rows", device="gfx942", seed=7),
        lambda _event, **_fields: None,
        lambda _note: None,
    )
    baseline = backend.read(source.read_bytes())
    (target,) = backend.profile(baseline).targets
    with backend.gate(baseline, target) as opened:
        yield opened, int(one.dispatch["code_object"]["load_base"], 16)


def test_a_candidate_that_is_wrong_only_in_the_program_is_rejected(gate):
    judge, base = gate
    text = partly(body(CORE + WHERE.format(base=base - (1 << 16), bytes=1 << 17)))
    rejection = judge.judge(text.encode()).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == "application" and "in the program itself out[64]" in rejection.reason, rejection


def test_a_candidate_that_is_right_in_the_program_says_so(gate):
    verdict = gate[0].judge(partly(HONEST_TEXT).encode())
    assert verdict.accepted, verdict.rejection
    assert verdict.steps[-1].evidence.memory_after_its_dispatch == "the same as after the baseline's dispatch"


@pytest.mark.slow
def test_memory_that_varies_between_runs_is_named_and_pointers_to_moved_memory_are_the_same(tmp_path):
    with gate_of(remembering(SOURCE.read_text()), tmp_path) as (judge, _):
        verdict = judge.judge(remembering(HONEST_TEXT).encode())
        cheat = judge.judge(remembering(body(IN_THE_PROGRAM + CORE + "  if (in_the_program && row == 0) hits = 7;\n")).encode())
    assert verdict.accepted, verdict.rejection
    left = next(one.evidence.unproven for one in verdict.steps if one.step == "equivalence")
    assert left[0] == "launches with `out = in` (if both point to the same memory, it leaves different contents there)"
    # The time itself, and the buffer that HIP copied it through.
    assert [re.sub("0x[0-9a-f]+", "PLACE", one) for one in left[1:]] == [
        f"{memory} at PLACE (not compared in the program: its contents vary from run to run)"
        for memory in ("24 bytes of device memory", "4194304 bytes of host memory")
    ]
    assert "in the program itself hits: baseline 0, candidate 7" in cheat.rejection.reason


@pytest.mark.slow
def test_a_header_can_put_the_kernel_into_two_code_objects(tmp_path, rocm_perf):
    """Both differ from before, and a different size moves what lies after them."""
    head, rest = SOURCE.read_text().split("template <typename T> bool same", 1)
    kernels = head.replace("__device__ int hits", "static __device__ int hits").replace(
        "__device__ float plain", "inline __device__ float plain"
    )
    for start in ("__global__ void rows(const float* in, float* out", "__global__ void rows(const float* in, double* out"):
        kernels = kernels.replace(start, f"template <int> {start}")
    main = "template <typename T> bool same" + rest.replace("::rows<<<", "::rows<1><<<")
    main = main.replace("  other<Tag>", "  elsewhere(in, out2);\n  other<Tag>")
    elsewhere = "  one::rows<1><<<1, 64>>>(in, out, 64, 48, 0.5f);\n  mark<<<1, 64>>>(out);\n"
    (tmp_path / "kernels.h").write_text("#pragma once\n" + kernels)
    (tmp_path / "candidate.h").write_text("#pragma once\n" + kernels.replace(USELESS, ""))
    (tmp_path / "main.hip").write_text('#include "kernels.h"\nvoid elsewhere(float*, float*);\n' + main)
    (tmp_path / "other.hip").write_text(
        '#include "kernels.h"\n__device__ int mine;\n__global__ void mark(float* out) { out[lane()] = mine++; }\n'
        f"void elsewhere(float* in, float* out) {{\n{elsewhere}}}\n"
    )
    built = BUILD.replace("SOURCE", "main.hip other.hip").replace("BINARY", "attacked")
    (tmp_path / "Makefile").write_text(f"attacked: main.hip other.hip kernels.h\n\t{built}\n")
    ran = rocm_perf("gate", "--device", "gfx942", "--kernel", "one::rows", "--json", "kernels.h", "candidate.h", "./attacked")
    verdict = json.loads(ran.stdout)
    assert verdict["accepted"], ran.stdout
    assert verdict["steps"][-1]["evidence"]["memory_after_its_dispatch"] == "the same as after the baseline's dispatch"


class Altered(Capture):
    """A capture with one changed byte, before and after the dispatch or only after it."""

    address = 0
    only_after = False

    def memory(self, address, size, *, after=False):
        content = super().memory(address, size, after=after)
        if not address <= self.address < address + size or (self.only_after and not after):
            return content
        place = self.address - address
        return content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :]


def altered(capture, address, only_after=False):
    made = Altered(capture.path, capture.dispatch, capture.regions)
    object.__setattr__(made, "address", address)
    object.__setattr__(made, "only_after", only_after)
    return made, KernelInputs()


@pytest.fixture
def plain(program):
    return program[1][0]


def addresses(capture, pools):
    """The address of the first byte of each allocation, of a runtime's pools or of all others."""
    allocations = [one for region in capture.regions if region.kind == "device" for one in region.allocations]
    return [address for address, size in allocations if size and (address in capture.argument_allocations) == pools]


def test_in_the_pool_of_arguments_only_what_the_dispatch_writes_counts(plain):
    """A runtime copies arguments there with whatever its own memory held, which is the same in two runs only by chance."""
    (pool,) = addresses(plain, pools=True)
    same = altered(plain, 0)
    assert difference_in_program(same, altered(plain, pool + 64), lambda _: same, 0) == (None, [])
    found, _ = difference_in_program(same, altered(plain, pool + 64, only_after=True), lambda _: same, 0)
    assert found is not None and found.reason.startswith("1 byte differs") and "earlier" not in found.reason


def test_memory_that_differs_is_the_candidates_fault_unless_one_of_three_more_runs_differs_there_too(plain):
    buffer = addresses(plain, pools=False)[0]
    same, other = altered(plain, 0), altered(plain, buffer)
    found, _ = difference_in_program(same, other, lambda _: same, 0)
    assert found is not None and found.reason.endswith("(left by an earlier dispatch)")
    found, unlike = difference_in_program(same, other, lambda turn: other if turn == 2 else same, 0)
    assert found is None and len(unlike) == 1 and f"{buffer:#x}" in unlike[0]
