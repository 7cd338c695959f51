"""Sources that nest more deeply than Python's own calls may, as written by code generators."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.source.promises import Promises, broken_in_source
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.hip_source.aliasing import other_memory_access, reassigned
from rocm_perf_lab.hip_source.launch_sites import launches_of
from rocm_perf_lab.hip_source.used_declarations import kernel_and_used_declarations
from rocm_perf_lab.optimize.transforms import TRANSFORMS, Proposal
from slow_variants import only

pytestmark = pytest.mark.usefixtures("hipcc")

COMMAND = ["hipcc", "-nogpuinc", "--offload-arch=gfx942", "-fbracket-depth=4096"]
TERMS, BRANCHES, PARENTHESES = 3000, 1500, 1000  # Clang 22 itself does not finish with more parentheses
CHAIN = " else ".join(f"if (in[0] == {i}) sum += {i};" for i in range(BRANCHES))
DEEP = {
    "sum": " + ".join(f"in[4 * i + {i % 4}]" if i < 40 else f"{i}.0f" for i in range(TERMS)),
    "parentheses": "(" * PARENTHESES + "in[0] + in[1]" + ")" * PARENTHESES,
    "calls": "plain(" * 200 + "in[0]" + ")" * 200,  # each of its arguments is a conversion
}
HEAD = """
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned long lds, hipStream_t stream);
int hipMalloc(void** address, unsigned long size);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, hipStream_t stream = nullptr);
unsigned __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, hipStream_t* stream);
}
__attribute__((device)) inline float plain(float x) { return x + 1; }
"""


def source_of(tmp_path, expression: str, chain: str = ""):
    """A kernel with the expression in its loop body, and a launch whose argument is an equally deep expression."""
    text = f"""{HEAD}
__attribute__((global)) void deep(const float* in, float* out, int n) {{
  __attribute__((shared)) float tile[64][64];
  float sum = 0;
  for (int i = 0; i < n; ++i) {{
    tile[__builtin_amdgcn_workitem_id_x()][0] = in[0];
    sum += {expression};
    {chain}
  }}
  out[n] = sum + tile[n][n];
}}
static void launch(float* in, float* out) {{ deep<<<1, 64>>>(in, out, {" + ".join(["1"] * TERMS)}); }}
int main() {{ void *a, *b; if (!hipMalloc(&a, 4) && !hipMalloc(&b, 4)) launch((float*)a, (float*)b); }}
"""
    path = tmp_path / "deep.hip"
    path.write_text(text)
    return read(path, COMMAND)


@pytest.mark.parametrize("which", only(list(DEEP), [*DEEP, "else if"]))
def test_everything_is_found_in_a_deep_source(tmp_path, which):
    source = source_of(tmp_path, DEEP.get(which, "in[0] + in[1]"), CHAIN if which == "else if" else "")
    (kernel,) = source.kernels
    (loop,) = kernel.all_loops()
    assert loop.variable == "i" and "in[0]" in loop.loads or which == "sum"
    assert not loop.obstacles and loop.stride is None  # ++ is not +=
    (launch,) = launches_of(source.host, kernel).sites
    assert launch.block == (64, 1, 1) and launch.address_names == (frozenset({"in"}), frozenset({"out"}), frozenset())
    assert other_memory_access(source.device, kernel) is None and reassigned(source.device, kernel) == set()
    assert broken_in_source(source, "deep", Promises(restrict=("in", "out"), threads=64)) is None
    assert [piece.name for piece in kernel_and_used_declarations(source.device, kernel)][0] == "deep"
    answers = {name: list(propose(source, kernel, (2,))) for name, propose in TRANSFORMS.items()}
    proposed = {name for name, found in answers.items() if any(isinstance(one, Proposal) for one in found)}
    assert {"unroll", "restrict", "lds-padding", "hoist", "launch-bounds", "nontemporal"} <= proposed
    assert ("vector" in proposed) == (which != "calls")
    hoisted = next(one for one in answers["hoist"] if isinstance(one, Proposal))
    assert len(read(source.path, COMMAND, text=apply_edits(source.text, hoisted.edits)).kernels) == 1
