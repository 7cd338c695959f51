"""Random blocks of statements that load neighbours: vector loads give the same bits, and nothing else is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import PARAMETERS, Writer, written
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, vector

pytestmark = pytest.mark.usefixtures("hipcc")

# Statements between two neighbours' loads that keep them apart; the index starts elsewhere after them.
APART = ["at += 4;", "if (f == 1234.5f) return;", "{ int* place = &at; *place ^= 1; }", "moved(at);"]
# Loads of neighbours that may not be merged: conditional, with an index that may wrap, from written memory, volatile.
ALONE = [
    "if (lane > 3) f += in[at] + in[at + 1];",
    "f += lane > 3 ? in[at] + in[at + 1] : 0;",
    "f += in[wrapping] * in[wrapping + 1];",
    "f += out[64 + lane * 3] + out[65 + lane * 3]; out[64 + lane * 3] = f;",
    "f += in[at] + in[at + 2];",
    "f += in[lane & 7] + in[(lane & 7) * 3 + 1];",
    "for (int j = 0; j < m; ++j) f += in[j] * in[at + 1];",
    "f += in[at++ & 127] + in[(at + 1) & 127];",
]
BASES = {"in": 4, "bytes": 1, "halves": 2, "index": 4, "mine": 4}


def kernel(writer: Writer, name: str) -> set[int]:
    """How many elements each block's proposal takes; none for a refusal."""
    chance, say = writer.chance, writer.say
    say(0, f"__global__ void {name}({PARAMETERS}) {{")
    say(1, "const int lane = __builtin_amdgcn_workitem_id_x(); const unsigned wrapping = lane * 2;")
    say(
        1,
        "const float* mine = in + n; const unsigned char* bytes = (const unsigned char*)in;",
    )
    say(1, "const short* halves = (const short*)index;")
    say(1, "int at = lane; float f = in[lane];")
    looped = chance.random() < 0.5
    if looped:
        say(1, "for (int i = 0; i < n; ++i) {")
    kind = chance.choice(["run", "run", "run", "apart", "alone"])
    elements = 0
    if kind == "alone":
        for _ in range(2):
            say(2, chance.choice(ALONE))
    else:
        base, index = chance.choice(list(BASES)), chance.choice(["lane * 2", "at", "lane + n", "2L * lane", "(lane & 31) * 4"])
        length = chance.choice([2, 3, 4, 5, 8])
        order = list(range(length))
        chance.shuffle(order)
        if kind == "apart":
            order, index = [0, 1], "at"
        for number, offset in enumerate(order):
            place = f"{index} + {offset}" if offset or chance.random() < 0.5 else index
            say(2, f"f = f * 0.5f + (float){base}[{place}];")
            if kind == "apart" and not number:
                say(2, chance.choice(APART))
            elif chance.random() < 0.7:
                say(2, f"out[64 + lane * 3 + {number % 3}] = f;")
        elements = 0 if kind == "apart" else taken(length, BASES[base])
    if looped:
        say(1, "}")
    say(1, f"out[lane] = f + {chance.randint(1, 99)} + at;")
    say(0, "}")
    return {elements} if elements else set()


def taken(length: int, size: int) -> int:
    """How many elements of a run fit into vectors of 16, 8, 4 or 2 elements, with 16 bytes at most."""
    total = 0
    while (left := length - total) >= 2:
        total += max(n for n in (2, 4, 8, 16) if n <= left and n * size <= 16)
    return total


def check(seed: int, kernels: int, folder: Path, rocm_perf_in) -> int:
    """Returns how many elements are loaded in vectors."""
    text, expected = written(seed, kernels, kernel, "__device__ void moved(int& at) { at += 3; }")
    source, edits, count = read(folder / "baseline.hip", COMMAND, text=text), [], 0
    for name, wanted in expected.items():
        answers = list(vector.propose(source, source.kernel(name), ()))
        proposals = [answer for answer in answers if isinstance(answer, Proposal)]
        assert {p.parameters["elements"] for p in proposals} == wanted, (seed, name, answers)
        assert proposals or isinstance(answers[0], Refusal)
        edits += [edit for proposal in proposals for edit in proposal.edits]
        count += sum(wanted)
    same_results(folder, source, edits, kernels, rocm_perf_in)
    return count


def test_vectors_give_the_same_bits_and_others_stay(tmp_path, native_dir, rocm_perf_in):
    assert check(1, 8, tmp_path, rocm_perf_in) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 18))
def test_hundreds_of_kernels(seed, tmp_path, native_dir, rocm_perf_in):
    assert check(seed, 24, tmp_path, rocm_perf_in) >= 20
