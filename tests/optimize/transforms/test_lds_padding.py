"""Random kernels with LDS arrays: padded arrays give the same bits, and those whose layout matters stay unchanged."""

from __future__ import annotations

import random

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import PARAMETERS, Writer, written
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, lds_padding

pytestmark = pytest.mark.usefixtures("hipcc")
HEAD = (
    "constexpr int kTwo = 2;",
    "using Rows = float[8][16];",
    "#define WIDE [16]",
    "__device__ void touched(float& x) { x += 1; }",
)

# words of the reason -> (declaration, use) where {a} is the array; None: not multidimensional, so there is no answer
REFUSED = {
    "address of an element": ("float {a}[8][16]", "f += (&{a}[0][0])[lane * 2];"),
    "as a whole": ("float {a}[8][16]", "{{ const float* row = {a}[lane & 7]; f += row[3]; }}"),
    "reference": ("float {a}[8][16]", "{{ float& one = {a}[lane & 7][2]; f += one; }}"),
    "by reference": ("float {a}[8][16]", "touched({a}[lane & 7][2]); f += {a}[lane & 7][2];"),
    "": ("float {a}[8][16]", "f += sizeof({a}[0]) + {a}[lane & 7][1];"),
    "macro or a type alias": ("Rows {a}", "f += {a}[lane & 7][5];"),
    "comes from a macro": ("float {a}[8]WIDE", "f += {a}[lane & 7][5];"),
    "are in one row": ("float {a}[8][16]", "f += {a}[n & 7][lane & 15];"),
    "odd number of banks": ("float {a}[8][17]", "f += {a}[lane & 7][5];"),
    "not a whole number": ("char {a}[8][6]", "f += {a}[lane & 7][5];"),
}
TYPES = {"float": (8, 16), "double": (4, 8), "int": (3, 32), "short": (8, 64), "unsigned char": (4, 128)}


def kernel(writer: Writer, name: str) -> dict[str, str | None]:
    """array -> words of its refusal, None where padding is to be proposed."""
    chance, expected = writer.chance, {}
    writer.say(0, f"__global__ void {name}({PARAMETERS}) {{")
    writer.say(1, "const int lane = __builtin_amdgcn_workitem_id_x(); const int other = lane * 5 + 3; float f = in[lane] + m;")
    for number in range(chance.randint(1, 3)):
        array = f"a{number}"
        if chance.random() < 0.4:
            words, (declaration, use) = chance.choice(list(REFUSED.items()))
            rows, columns = 8, 6 if "char" in declaration else 16
            expected[array], declaration, use = words, declaration.format(a=array), use.format(a=array)
        else:
            type_, (rows, columns) = chance.choice(list(TYPES.items()))
            plane, index = ("[2]", "[lane & 1]") if chance.random() < 0.3 else ("", "")
            extent = chance.choice([str(columns), f"{columns // 2} * 2", f"kTwo * {columns // 2}"])
            declaration = f"{type_} {array}{plane}[{rows}][{extent}]"
            row = chance.choice(["lane", "other", "lane + index[lane]"])
            use = f"for (int i = 0; i < n; ++i) f += {array}{index}[unsigned({row}) % {rows}][(i * 7 + lane) % {columns}];"
            expected[array] = None
        writer.say(1, f"__shared__ {declaration};")
        plane = "[i & 1]" if "[2][" in declaration else ""
        loop = f"for (int i = lane; i < {2 * rows * columns if plane else rows * columns}; i += 64)"
        place = f"{array}{plane}[i{' / 2' if plane else ''} / {columns} % {rows}][i{' / 2' if plane else ''} % {columns}]"
        if "one row" in (expected[array] or ""):
            writer.say(1, f"if (lane < 16) {array}[n & 7][lane] = in[lane] * 3;")
        elif "odd" not in (expected[array] or ""):
            writer.say(1, f"{loop} {place} = in[(i * 3 + {number}) & 255] + {chance.randint(1, 50)};")
        else:
            writer.say(1, f"if (lane < 8) {array}[lane][5] = in[lane] * 3;")
        writer.say(1, "__builtin_amdgcn_s_barrier();")
        writer.say(1, use)
    writer.say(1, f"out[lane] = f * {chance.randint(2, 99)};")
    writer.say(0, "}")
    return expected


def check(seed: int, kernels: int, folder, rocm_perf_in) -> None:
    text, expected = written(seed, kernels, kernel, *HEAD)
    source, edits, chance = read(folder / "baseline.hip", COMMAND, text=text), [], random.Random(seed)
    for name, arrays in expected.items():
        found: dict[str, list] = {}
        for answer in lds_padding.propose(source, source.kernel(name), ()):
            found.setdefault(answer.parameters["array"] if isinstance(answer, Proposal) else answer.reason[:2], []).append(
                answer
            )
        assert found.keys() == arrays.keys()
        for array, words in arrays.items():
            if words is None:
                assert all(isinstance(answer, Proposal) for answer in found[array]), (seed, name, found[array])
                edits += chance.choice(found[array]).edits
            else:
                (answer,) = found[array]
                assert isinstance(answer, Refusal) and words in answer.reason, (seed, name, words, answer)
    same_results(folder, source, edits, kernels, rocm_perf_in)


def test_padded_arrays_give_the_same_bits_and_others_stay(tmp_path, native_dir, rocm_perf_in):
    check(1, 12, tmp_path, rocm_perf_in)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 16))
def test_hundreds_of_kernels(seed, tmp_path, native_dir, rocm_perf_in):
    check(seed, 24, tmp_path, rocm_perf_in)
