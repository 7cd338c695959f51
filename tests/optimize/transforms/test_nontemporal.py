"""Which stores get the hint, and that results do not depend on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import PARAMETERS, Writer, written
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, nontemporal

pytestmark = pytest.mark.usefixtures("hipcc")

# body with lane, in, index, out, n -> stores to `out` that get the hint, or words of the refusal
BODIES = {
    "out[lane] = in[lane] * 3;": 1,
    "out[lane] = n; out[lane + 64] = in[lane] > 3 ? 1 : lane;": 2,
    "if (lane & 1) out[lane] = 7; else { out[lane] = in[lane] + in[n]; }": 2,
    "for (int i = 0; i < n; ++i) out[(i & 1) * 64 + lane] = in[i + lane] * i;": 1,
    "for (int i = 0; i < 3; ++i) { int at = i * 64 + lane; (out)[at] = index[at] + m; }": 1,
    "out[lane] += in[lane]; out[lane] = m;": "its value or its address is used",
    "out[lane] = n; if (out[lane] > 3) out[lane] = m;": "its value or its address is used",
    "float* other = out; other[lane] = m;": "used other than",
    "*(out + lane) = n * m;": "used other than",
    "float x = out[lane] = in[lane]; out[lane + 64] = x * m;": "part of an expression",
    "float& place = out[lane]; place = m * 5;": "its value or its address is used",
    "for (int i = 0; i < n; ++i) out[lane] = in[i + lane] * m;": "repeatedly",
    "STORE(out, lane, n * m);": "macro",
    "__hip_atomic_fetch_add(out + lane, 2.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);": "used other than",
}


def kernel(writer: Writer, name: str) -> int | str:
    number = int(name.removeprefix("k"))
    body, wanted = list(BODIES.items())[number]
    writer.say(0, f"__global__ void {name}({PARAMETERS}) {{")
    writer.say(1, "const int lane = __builtin_amdgcn_workitem_id_x();")
    writer.say(1, f"{body} index += 0;")
    writer.say(1, f"count[0] = n * 100 + m + {number};")
    writer.say(0, "}")
    return wanted


def test_streams_get_the_hint_and_keep_their_bits(tmp_path, native_dir, rocm_perf_in):
    text, expected = written(0, len(BODIES), kernel, "#define STORE(p, i, x) p[i] = x")
    source, edits = read(tmp_path / "baseline.hip", COMMAND, text=text), []
    for name, wanted in expected.items():
        answers = list(nontemporal.propose(source, source.kernel(name), ()))
        answer = next(a for a in answers if "out" in (a.parameters["parameter"] if isinstance(a, Proposal) else a.reason[:4]))
        if isinstance(wanted, int):
            assert isinstance(answer, Proposal) and answer.parameters["stores"] == wanted, (name, answer)
            edits += answer.edits
        else:
            assert isinstance(answer, Refusal) and wanted in answer.reason, (name, answer)
    candidate = same_results(tmp_path, source, edits, len(BODIES), rocm_perf_in)
    stores = sum(wanted for wanted in expected.values() if isinstance(wanted, int))
    assert hinted(tmp_path, candidate) >= stores > hinted(tmp_path, source.text) == 0


def hinted(folder: Path, text: bytes) -> int:
    """Store instructions with the hint."""
    (folder / "x.hip").write_bytes(text)
    command = [*COMMAND, "--offload-device-only", "-S", "-o", "-", "x.hip"]
    listing = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return sum("store" in line and line.rstrip().endswith(" nt") for line in listing.splitlines())
