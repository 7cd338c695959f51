"""What a candidate's source may change: the target kernel's body, and device functions it adds. Nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.source_check import check_source
from rocm_perf_lab.gate.verdict import Outcome
from rocm_perf_lab.hip_source import read

pytestmark = pytest.mark.usefixtures("hipcc")

# Without HIP's headers a source is read in a tenth of a second; the attributes are those that HIP's macros stand for.
BASELINE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define SIZE 4
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int helper(int x) { return x + SIZE; }
namespace app {
__global__ __launch_bounds__(64) void target(int* p, int n) { for (int i = 0; i < n; ++i) p[i] = helper(p[i]); }
}
template <typename F> __device__ int applied(int x, F f) { return f(x); }
__global__ void other(int* p) { p[0] = applied(p[0], [](int x) { return x + 1; }); struct { int a; } q{p[1]}; p[1] = q.a; }
int host(int n) { return n * SIZE; }
int main() { return host(0); }
"""
BODY = "for (int i = 0; i < n; ++i) p[i] = helper(p[i]);"


def verdict(candidate: str):
    command = ["hipcc", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942"]
    baseline, changed = (read(Path("x.hip"), command, text=text.encode()) for text in (BASELINE, candidate))
    return check_source(baseline, changed, "target")


def replaced(old: str, new: str) -> str:
    assert BASELINE.count(old) == 1
    return BASELINE.replace(old, new)


HONEST = {
    "pragma": replaced(BODY, "\n#pragma unroll 4\n" + BODY),
    "body": replaced(BODY, "int i = 0; while (i < n) { p[i] = helper(p[i]); ++i; }"),
    "renamed local": replaced(BODY, BODY.replace("i", "j").replace("jnt", "int")),
    "added device function": replaced(
        "namespace app", "__device__ int extra(int x) { return helper(x); }\nnamespace app"
    ).replace("p[i] = helper", "p[i] = extra"),
    "static LDS": replaced(BODY, "static __shared__ int tile[64]; tile[0] = n; p[0] = tile[0];"),
    "comment and body": replaced("int host(int n)", "// host\nint host( int n )").replace(BODY, "p[0] = n;"),
}
CHEATS = {
    "nothing changed": (BASELINE + "// faster\n", "nothing was changed"),
    "host code": (replaced("n * SIZE", "n * SIZE / 2"), "host.* not part of app::target"),
    "another kernel": (replaced("p[1] = q.a", "p[1] = q.a + 2"), "other.* not part of app::target"),
    "another kernel's lambda": (replaced("return x + 1", "return x + 2"), "other.* not part of app::target"),
    "existing helper": (replaced("x + SIZE", "x"), "helper.* not part of app::target"),
    "macro": (replaced("#define SIZE 4", "#define SIZE 2"), "SIZE.* not part of app::target"),
    "macro inside the body": (replaced(BODY, "p[0] = 1;\n#define helper(x) 0\n"), "helper"),
    "constant": (replaced("{1, 2, 3, 4}", "{1, 2, 3, 5}"), "table.* not part of app::target"),
    "launch bounds": (replaced("__launch_bounds__(64)", "__launch_bounds__(128)"), "not part of app::target|another signature"),
    "parameter type": (replaced("void target(int* p, int n)", "void target(int* p, long n)"), "target"),
    "removed launch bounds": (replaced("__launch_bounds__(64) ", ""), "target"),
    "new device variable": (replaced("namespace app", "__device__ int cache[64];\nnamespace app"), "cache.*outlives a launch"),
    "static in the kernel": (replaced(BODY, "static __device__ int calls; p[0] = calls++;"), "keeps a variable"),
    "static in a new function": (
        replaced("namespace app", "__device__ int extra() { static __device__ int c; return c++; }\nnamespace app"),
        "outlives a launch",
    ),
    "new kernel": (replaced("int host", "__global__ void late(int* p) { p[1] = 0; }\nint host"), "late.*only __device__"),
    "new host function": (replaced("int host", "int sneak() { return 1; }\nint host"), "sneak.*only __device__"),
    "host pass only": (replaced("n * SIZE;", "\n#ifndef __HIP_DEVICE_COMPILE__\nn +\n#endif\nn * SIZE;"), "host"),
    "device pass only": (replaced("x + SIZE;", "\n#ifdef __HIP_DEVICE_COMPILE__\n2 *\n#endif\nx + SIZE;"), "helper"),
    "constructor": (replaced("int main", "struct S { S() {} } s;\nint main"), "S|s"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_changes_pass(name):
    seen = verdict(HONEST[name])
    assert seen.outcome is Outcome.PASSED, seen.reason


@pytest.mark.parametrize("name", CHEATS)
def test_anything_else_is_rejected_by_name(name):
    candidate, reason = CHEATS[name]
    seen = verdict(candidate)
    assert seen.outcome is Outcome.REJECTED
    assert re.search(reason, seen.reason), seen.reason


def test_a_candidate_that_does_not_compile_says_where():
    with pytest.raises(SourceError, match="x.hip:11"):
        verdict(replaced(BODY, "p[0] = ;"))
