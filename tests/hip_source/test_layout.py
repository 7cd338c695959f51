"""Layouts of types, against those of the compiler itself."""

from __future__ import annotations

import random
import re
import subprocess

import pytest

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.layout import BYTES
from rocm_perf_lab.hip_source.parameter_layout import parameter_layouts

COMMAND = ("hipcc", "-O0", "--offload-arch=gfx942")
SCALARS = {
    "float": "float32",
    "double": "float64",
    "_Float16": "float16",
    "__half": "float16",
    "hip_bfloat16": "bfloat16",
    "__hip_bfloat16": "bfloat16",
    "__hip_fp8_e4m3_fnuz": "float8_e4m3fnuz",
    "__hip_fp8_e5m2_fnuz": "float8_e5m2fnuz",
    "__hip_fp8_e4m3": "float8_e4m3fn",
    "__hip_fp8_e5m2": "float8_e5m2",
    "char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "unsigned long long": "uint64",
    "bool": "bool",
    "Small": "int16",
}
HEAD = """\
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <cstddef>
#include <cstdio>
enum Small : short { one, two };
struct Base0 { int first; char second; };
struct Base1 { double third; };
"""


def records(seed: int, count: int) -> list[tuple[str, dict[str, str]]]:
    """The text of a struct, and path -> kind of its numbers; later structs have earlier ones as members."""
    draw, made = random.Random(seed), []
    for number in range(count):
        base = draw.choice(["", " : Base0", " : Base0, Base1"])
        leaves = {".first": "int32", ".second": "int8"} if base else {}
        leaves |= {".third": "float64"} if "Base1" in base else {}
        lines = []
        for member in range(draw.randint(1, 6)):
            name = f"m{member}"
            extent = draw.choice(["", "", f"[{draw.randint(1, 4)}]", "[2][3]"])
            index = "[]" * extent.count("[")
            if made and draw.random() < 0.3:
                other = draw.randrange(len(made))
                lines.append(f"S{other} {name}{extent};")
                leaves |= {f".{name}{index}{path}": kind for path, kind in made[other][1].items()}
            else:
                type_ = draw.choice(list(SCALARS))
                lines.append(f"{type_} {name}{extent};")
                leaves[f".{name}{index}"] = SCALARS[type_]
        lines.append("union { unsigned bits; float as_float; };")
        leaves[".as_float"] = "float32"
        if draw.random() < 0.3:
            lines.append("struct alignas(32) { float2 inner; };")
            leaves |= {".inner.x": "float32", ".inner.y": "float32"}
        made.append((f"struct S{number}{base} {{ {' '.join(lines)} }};", leaves))
    return made


def placed(path: str, to: int) -> str:
    return re.sub(r"\[\]", f"[{to}]", path)


def test_offsets_and_sizes_equal_those_of_the_compiler(tmp_path, hipcc):
    made = records(11, 24)
    prints, kernels = [], []
    for number, (_, leaves) in enumerate(made):
        kernels.append(f"__global__ void k{number}(S{number}* p, S{number} v) {{}}")
        prints.append(f'printf("S{number} size %zu\\n", sizeof(S{number}));')
        for path in leaves:
            place = f"(char*)&p{number}[0]{placed(path, 0)} - (char*)p{number}"
            prints.append(f'printf("S{number} {path} %zu\\n", size_t({place}));')
    pointers = [f"S{number}* p{number} = (S{number}*)room;" for number in range(len(made))]
    room = "alignas(64) static char room[1 << 20];"
    text = "\n".join(
        [
            HEAD,
            *(text for text, _ in made),
            *kernels,
            room,
            "int main() {",
            *pointers,
            *prints,
            "}",
        ]
    )
    source = tmp_path / "layouts.hip"
    source.write_text(text)
    subprocess.run([*COMMAND, source, "-o", tmp_path / "layouts", "-Wno-everything"], check=True)
    said = subprocess.run([tmp_path / "layouts"], check=True, capture_output=True, text=True).stdout.split("\n")
    offsets = {tuple(line.split()[:2]): int(line.split()[2]) for line in said if line}
    parsed = read(source, COMMAND)
    for number, (_, leaves) in enumerate(made):
        types = parameter_layouts(parsed, parsed.kernel(f"k{number}"), f"k{number}(S{number}*, S{number})")
        layout = types.behind[types.parameters[0].leaves[0].pointee]
        assert layout == types.parameters[1] and not layout.unknown
        assert layout.size == offsets[f"S{number}", "size"]
        assert {leaf.path: leaf.scalar for leaf in layout.leaves} == leaves
        for leaf in layout.leaves:
            assert leaf.offset == offsets[f"S{number}", leaf.path], (number, leaf)
            last = leaf.offset + sum((count - 1) * stride for count, stride in leaf.dims) + BYTES[leaf.scalar]
            assert last <= layout.size


HARD = """
struct Opaque;
struct Node { float value; Node* next; };
struct Odd { int a : 3; float b; };
union Whole { float4 four; int parts[4]; };
union Torn { float* p; double d; };
struct Virtual { virtual void f(); float x; };
typedef float Four __attribute__((ext_vector_type(4)));
namespace { template <typename T> struct Pair { T a; int b; }; }
template <typename T, int N> struct Row { T x[N]; };
__global__ void hard(Node* n, Odd o, Whole w, Torn* t, Virtual* v, Four* f, void* u, Opaque* q, float** ff, __bf16* b,
                     __half2 h, __hip_fp8x4_e5m2_fnuz* e) {}
template <typename T, int N> __global__ void made(Pair<T>* p, Row<T, N> r, const T* __restrict__ x, Four* f, __bf16* b) {}
int main() { made<double, 3><<<1, 1>>>(nullptr, {}, nullptr, nullptr, nullptr); }
"""


@pytest.fixture(scope="module")
def hard(tmp_path_factory, hipcc):
    source = tmp_path_factory.mktemp("hard") / "hard.hip"
    source.write_text(HEAD + HARD)
    return read(source, COMMAND)


def test_types_that_are_only_partly_known(hard):
    types = parameter_layouts(hard, hard.kernel("hard"), "hard(...)")
    n, o, w, t, v, f, u, q, ff, b, h, e = types.parameters

    def leaves(layout):
        behind = types.behind[layout.leaves[0].pointee]
        return [(leaf.path, leaf.offset, leaf.scalar or leaf.pointee, leaf.dims) for leaf in behind.leaves], behind.unknown

    assert leaves(n) == ([(".value", 0, "float32", ()), (".next", 8, "Node", ())], ())
    assert [leaf.path for leaf in o.leaves] == [".b"] and o.unknown == ((".a", "it is a bit-field"),)
    assert [(leaf.path, leaf.offset) for leaf in w.leaves] == [(f".four.{x}", 4 * i) for i, x in enumerate("xyzw")]
    assert leaves(t) == ([(".d", 0, "float64", ())], ())
    assert leaves(v) == ([(".x", 8, "float32", ())], ())
    assert leaves(f) == ([("[]", 0, "float32", ((4, 4),))], ())
    assert leaves(u)[0] == [] and leaves(q) == ([], (("", "its type is incomplete"),))
    assert leaves(ff) == ([("", 0, "float", ())], ()) and types.behind["float"].leaves[0].scalar == "float32"
    assert leaves(b) == ([("", 0, "bfloat16", ())], ())
    assert [(leaf.scalar, leaf.dims) for leaf in h.leaves] == [("float16", ((2, 2),))]
    assert leaves(e) == ([("[]", 0, "float8_e5m2fnuz", ((4, 1),))], ())


def test_types_of_an_instantiation(hard):
    name = (
        "void made<double, 3>((anonymous namespace)::Pair<double>*, Row<double, 3>, double const*, "
        "float __vector(4)*, std::bfloat16_t*)"
    )
    types = parameter_layouts(hard, hard.kernel("made"), name)
    p, r, x, f, b = types.parameters
    behind = types.behind[p.leaves[0].pointee]
    assert behind.size == 16 and [(leaf.path, leaf.offset, leaf.scalar) for leaf in behind.leaves] == [
        (".a", 0, "float64"),
        (".b", 8, "int32"),
    ]
    assert [(leaf.path, leaf.dims, leaf.scalar) for leaf in r.leaves] == [(".x[]", ((3, 8),), "float64")]
    scalars = [types.behind[one.leaves[0].pointee].leaves[0].scalar for one in (x, f, b)]
    assert scalars == ["float64", "float32", "bfloat16"]


def test_a_type_without_a_name_is_recognised(hard):
    types = parameter_layouts(hard, hard.kernel("made"), "void made<int, 1>('lambda'(int)*, int)")
    assert types.parameters[0].unknown[0][1].startswith("its type cannot be named") and types.parameters[1].size == 4
