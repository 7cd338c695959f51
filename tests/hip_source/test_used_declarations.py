"""What a kernel uses, against annotated sources: every declaration named `used...` is used, and no other."""

from __future__ import annotations

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.used_declarations import kernel_and_used_declarations

pytestmark = pytest.mark.usefixtures("hipcc")

COMMAND = ["hipcc", "-O2", "-nogpuinc", "-std=c++20", "--offload-arch=gfx942", "x.hip", "-o", "x"]
SOURCE = r"""
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define USED_INNER 3
#define USED_MACRO(x) ((x) * USED_INNER + used_by_macro(x))
#define OTHER_MACRO 7
__device__ int used_by_macro(int x);
enum UsedEnum { used_a, used_b };
enum OtherEnum { other_a };
using UsedAlias = unsigned;
constexpr int used_size = 4, other_beside_it = 5;
constexpr int other_constant = OTHER_MACRO;
// How long a UsedVector is.
__device__ inline int used_length(int n) { return n * used_size; }
struct UsedVector {
  float x[used_size];
  __device__ float sum() const { return used_in_method(x[0]); }
  __device__ static float used_in_method(float v);
};
struct OtherVector { int x; };
__device__ inline int used_overload(int a) { return a; }
__device__ inline float used_overload(float a) { return a * used_b; }
__device__ inline float other_overload(float a) { return a; }
/* A helper,
 * over two lines. */
template <typename T>
__device__ T used_template(T a) { return a + used_overload(a); }
namespace inner {
__device__ inline int used_in_namespace(int a) { return a; }
__device__ inline int other_in_namespace(int a) { return a; }
template <typename T> __global__ void target(T* out, UsedVector v) {
  UsedAlias n = USED_MACRO(2);
  out[0] = used_template(v.sum()) + used_in_namespace(used_length(n));
  auto twice = [](int a) { return a * 2; };
  out[1] = twice(1) + used_overload(out[0]);
}
template __global__ void target<float>(float*, UsedVector);
}
__device__ int used_by_macro(int x) { return x; }
__global__ void other_kernel(int* out) { out[0] = inner::other_in_namespace(other_constant); }
#define WRITTEN __global__ void written(int* out) { out[0] = 1; }
WRITTEN
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("uses") / "x.hip"
    path.write_text(SOURCE)
    return read(path, COMMAND)


def test_everything_used_is_found_and_nothing_else(source):
    own, *used = kernel_and_used_declarations(source.device, source.kernel("target"))
    names = {piece.name for piece in used}
    wanted = {"__global__", "__device__", "USED_INNER", "USED_MACRO", "used_by_macro", "UsedEnum", "UsedAlias", "used_size"}
    wanted |= {"used_length", "UsedVector", "used_template", "used_overload", "used_in_namespace"}
    assert own.name == "target" and names - {"target"} == wanted
    assert sum(piece.name == "used_overload" for piece in used) == 2
    assert sum(piece.name == "used_by_macro" for piece in used) == 2  # declared here and defined further down


def test_pieces_are_whole_lines_with_their_comments(source):
    text = SOURCE.encode()
    pieces = {
        piece.name: text[piece.start : piece.end].decode()
        for piece in kernel_and_used_declarations(source.device, source.kernel("target"))
    }
    assert pieces["used_length"].startswith("// How long a UsedVector is.\n__device__")
    assert pieces["used_length"].endswith("n * used_size; }\n")
    assert pieces["used_template"].startswith("/* A helper,\n * over two lines. */\ntemplate")
    assert pieces["UsedVector"].endswith("\n};\n") and pieces["used_size"].startswith("constexpr int used_size = 4, other")
    assert pieces["target"].startswith("template <typename T> __global__ void target(") and pieces["target"].endswith("}\n")


def test_a_kernel_without_uses(source):
    names = [piece.name for piece in kernel_and_used_declarations(source.device, source.kernel("other_kernel"))]
    assert names[0] == "other_kernel"
    assert set(names[1:]) == {"__global__", "__device__", "other_in_namespace", "other_constant", "OTHER_MACRO"}


def test_a_kernel_written_by_a_macro_cannot_be_shown(source):
    with pytest.raises(SourceError, match="macro"):
        kernel_and_used_declarations(source.device, source.kernel("written"))
