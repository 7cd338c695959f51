"""Random loops with invariant loads: hoisted loads give the same bits, and no load is added that was not executed before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import PARAMETERS, Writer, written
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, hoist

pytestmark = pytest.mark.usefixtures("hipcc")

# Statements in a loop body over i, with the loads to be hoisted from it; `far` is an address that faults while n < 5.
STAYS = {
    "f += in[n] * in[lane + 64];": ["in[n]", "in[lane + 64]"],
    "f = f * 0.5f + mine[3] + in[(i * 3) & 255];": ["mine[3]"],
    "if (*in > f) f += in[i & 31]; else g += (int)mine[m];": ["*in"],
    "f += index[lane] > i ? in[7] : in[far];": ["index[lane]"],
    "out[128 + lane] = in[m + 2] + i; f += in[m + 2];": ["in[m + 2]"],
    "{ const int k = i & 7; f += in[k] + in[far]; }": ["in[far]"],
    "f = mixed(in[m], i) + f;": ["in[m]"],
    "f += in[index[m] & 255] * i;": ["index[m]"],
    "for (int j = 0; j < 3; ++j) { f += in[lane] * j; }": [],
}
CHANGES = [
    "f += in[i];",
    "{ f += in[g & 255]; g += 3; }",
    "if (i > 1) f += in[m];",
    "f += i > 1 && in[m] > 0 ? 1 : 2;",
    "f += out[lane] + i; out[lane] = f;",
    "{ int k = m; f += in[k] + i; }",
    "{ const float& one = in[m]; f += one + i; }",
    "moved += 1; f += moved[m];",
    "f += in[slot] + i; *where += 1;",
    "f += in[m + step()];",
    "if (f > 1e30f) break; f += in[m];",
]
FORBIDDEN = {'asm volatile("s_nop 0");': "inline assembly", "f += *(volatile const float*)(in + lane);": "volatile"}


def kernel(writer: Writer, name: str) -> list[tuple[int, list[str] | str]]:
    """(line, loads hoisted from the loop there, or words of its refusal)."""
    chance, expected, say = writer.chance, [], writer.say
    say(0, f"__global__ void {name}({PARAMETERS}) {{")
    say(1, "const int lane = __builtin_amdgcn_workitem_id_x(), far = n < 5 ? 1 << 28 : 9;")
    say(1, "const float *mine = in + lane, *moved = in; int slot = 3, *where = &slot;")
    say(1, "float f = in[lane]; int g = index[lane];")
    for number in range(chance.randint(1, 3)):
        forbidden = chance.random() < 0.12
        kind = chance.choice(["for", "for", "while", "do", "braceless", "counted", "pragma", "else"])
        stays = {chance.choice(list(STAYS)) for _ in range(chance.randint(0, 2))}
        loads = list(dict.fromkeys(load for statement in STAYS if statement in stays for load in STAYS[statement]))
        body = [s for s in STAYS if s in stays] + [chance.choice(CHANGES)]
        # `far` faults for n < 5: the loop may run only where n is larger.
        bound = "n - 4" if any("far" in s for s in stays) else chance.choice(["n", "m", "n - 3"])
        i = f"i{number}"
        if any("far" in s for s in stays) and kind in ("do", "counted"):
            kind = "for"
        if forbidden:
            body.append(chance.choice(list(FORBIDDEN)))
        if kind in ("braceless", "else"):
            body = [statement for statement in body if not statement.startswith("for")][:1]
            loads = [load for load in STAYS.get(body[0], [])]
            forbidden = False
        body = [re.sub(r"\bi\b", i, statement) for statement in body]
        if kind in ("while", "do"):
            say(1, f"int {i} = 0;")
        if kind == "pragma":
            say(1, "#pragma unroll 2")
        expected.append((len(writer.lines) + 1, loads))
        head = f"for (int {i} = 0; {i} < {6 if kind == 'counted' else bound}; ++{i})"
        if kind == "while":
            head = f"while ({i} < {bound})"
        if kind == "else":
            say(1, f"if (m > 100) f = 1; else {head} {body[0]}")
        elif kind == "braceless":
            say(1, f"{head} {body[0]}")
        else:
            say(1, "do {" if kind == "do" else f"{head} {{")
            for statement in body:
                say(2, statement)
            if kind in ("while", "do"):
                say(2, f"++{i};")
            say(1, f"}} while ({i} < {bound});" if kind == "do" else "}")
        if forbidden:
            expected[-1] = (expected[-1][0], FORBIDDEN[next(s for s in FORBIDDEN if s in body)])
        elif not loads:
            expected[-1] = (expected[-1][0], "has the same address")
    say(1, "out[lane] = f; out[64 + lane] = (float)(g & 0xffff);")
    say(0, "}")
    return expected


def check(seed: int, kernels: int, folder: Path, rocm_perf_in) -> int:
    """Returns how many loads were hoisted."""
    step = "__device__ int step() { return __builtin_amdgcn_workitem_id_x() & 3; }"
    text, expected = written(seed, kernels, kernel, step)
    source, edits, count = read(folder / "baseline.hip", COMMAND, text=text), [], 0
    for name, loops in expected.items():
        answers = {answer.line: answer for answer in hoist.propose(source, source.kernel(name), ())}
        unseen = any(words in FORBIDDEN.values() for _, words in loops if isinstance(words, str))
        for line, wanted in loops:
            answer = answers[line]
            if isinstance(wanted, str) or unseen:
                assert isinstance(answer, Refusal), (seed, name, answer)
                assert unseen or wanted in answer.reason, (seed, name, answer)
            else:
                assert isinstance(answer, Proposal), (seed, name, answer)
                assert set(answer.parameters["loads"].split(", ")) == set(wanted), (seed, name, wanted, answer)
                edits += answer.edits
                count += len(wanted)
    same_results(folder, source, edits, kernels, rocm_perf_in)
    return count


def test_hoisted_loads_give_the_same_bits_and_others_stay(tmp_path, native_dir, rocm_perf_in):
    assert check(1, 8, tmp_path, rocm_perf_in) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 18))
def test_hundreds_of_kernels(seed, tmp_path, native_dir, rocm_perf_in):
    assert check(seed, 24, tmp_path, rocm_perf_in) >= 8
