"""One wave per row: in which kernels, and that the results stay the same for all numbers of rows and columns."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, wave_per_row

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROGRAM = Path(__file__).with_name("rows.hip")
COMMAND = ("hipcc", "-O2", "--offload-arch=gfx942")
PROPOSED = ("normalized", "product", "least", "nearest", "closest", "sparse")
REFUSED = {
    "up_to": "needs sum, which the loop changes",
    "counting": "changes variables other than",
    "in_turns": "changes variables other than",
    "until": "neither stores an element nor reduces",
    "from_one": "sum does not start at 0",
    "at_once": "the effect of a NaN depends on its position",
    "in_order": "reduces in a way that is not known",
    "prefix": "sum is used while it is being accumulated",
    "neighbours": "reads x, which it stores to",
    "by_place": "more than its row",
    "beyond": "something for rows past the last",
    "of_half": "not arithmetic over its own arguments",
}


@pytest.fixture(scope="module")
def source():
    return read(PROGRAM, COMMAND)


@pytest.mark.parametrize("name", REFUSED)
def test_other_kernels_stay_unchanged(source, name):
    (answer,) = wave_per_row.propose(source, source.kernel(name), ())
    assert not isinstance(answer, Proposal) and REFUSED[name] in answer.reason, answer


def test_every_size_gives_the_same_results(source, tmp_path, rocm_perf_in):
    edits = []
    for name in PROPOSED:
        (proposal,) = wave_per_row.propose(source, source.kernel(name), ())
        assert isinstance(proposal, Proposal), proposal
        edits += proposal.edits
    changed = apply_edits(source.text, edits)
    assert changed.count(b"threadIdx.x % 64") == 6 and changed.count(b", 256") == 6
    printed = []
    for name, text in (("baseline", source.text), ("candidate", changed)):
        (tmp_path / f"{name}.hip").write_bytes(text)
        subprocess.run([*COMMAND, f"{name}.hip", "-o", name], cwd=tmp_path, check=True)
        printed.append(rocm_perf_in(tmp_path, "run", "--device", "gfx942", f"./{name}").stdout.splitlines())
    assert printed[0] == printed[1] and len(printed[0]) == 3 * 4 * 7 and len(set(printed[0])) > 30


@pytest.mark.slow
def test_softmax_gains_as_much_as_expected(repository, rocm_perf, tmp_path):
    for name in ("softmax.hip", "check.h"):
        shutil.copy(repository / "testbed" / name, tmp_path)
    compile_hip("-O3", "--offload-arch=gfx942", "softmax.hip", "-o", "softmax", cwd=tmp_path)
    options = ["--auto-approve", "--accept", "modelled", "--seed", 7, "--ulps", 600, "--check", "grep -q PASS", "--json"]
    words = ["--transforms", "wave-per-row", "--kernel", "softmax_naive", "softmax.hip", "./softmax --rows 128 --cols 128"]
    done = rocm_perf("optimize", *options, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (accepted,) = json.loads(done.stdout)["iterations"]
    assert accepted["kernel_time_ratio"] <= 1 - 0.84
    assert "softmax_naive<<<(rows + 3) / 4, 256>>>" in (tmp_path / "softmax.optimized.hip").read_text()
