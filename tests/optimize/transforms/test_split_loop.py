"""Loops that are split over more workgroups: which ones, and that the results stay the same for all sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, split_loop
from slow_variants import every

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROGRAM = Path(__file__).with_name("grids.hip")
COMMAND = ("hipcc", "-O2", "--offload-arch=gfx942")
# The new launch with four parts, in a dimension that the kernel does not use or in one that it does.
PROPOSED = {
    "planes": b"planes<<<dim3((width + 63) / 64, 4), 64>>>",
    "steps": b"steps<<<dim3(2, 4), 32>>>",
    "bricks": b"bricks<<<dim3((n + 7) / 8, (n + 7) / 8, (n + 7) / 8 * 4), dim3(8, 8)>>>",
}
REFUSED = {
    "summed": "sum keeps a value",
    "carried": "out, which the loop stores to, is accessed at two places",
    "same_place": "every iteration stores, or may store, to out[x]",
    "stores_before": "stores outside of the loop",
    "leaves": "may end",
    "in_place": "from the same",
    "together": "barrier",
}


@pytest.fixture(scope="module")
def source():
    return read(PROGRAM, COMMAND)


@pytest.mark.parametrize("name", REFUSED)
def test_other_kernels_stay_unchanged(source, name):
    (answer,) = split_loop.propose(source, source.kernel(name), ())
    assert not isinstance(answer, Proposal) and REFUSED[name] in answer.reason, answer


@pytest.fixture(scope="module")
def baseline(tmp_path_factory, source, rocm_perf_in):
    return printed(tmp_path_factory.mktemp("grids"), source.text, rocm_perf_in)


@pytest.mark.parametrize("number", every(2, [2, 0]))
def test_every_size_gives_the_same_results(source, baseline, number, tmp_path, rocm_perf_in):
    edits = []
    for name in PROPOSED:
        proposals = list(split_loop.propose(source, source.kernel(name), ()))
        assert all(isinstance(one, Proposal) for one in proposals), proposals
        edits += proposals[number].edits
        assert proposals[number].promises.restrict == (("out",) if name == "planes" else ())
    changed = apply_edits(source.text, edits)
    assert number or all(launch in changed for launch in PROPOSED.values()), changed.decode()
    assert printed(tmp_path, changed, rocm_perf_in) == baseline and len(baseline) == len(set(baseline)) == 3 * 3 + 2 * 4


def printed(folder: Path, text: bytes, rocm_perf_in) -> list[str]:
    (folder / "program.hip").write_bytes(text)
    subprocess.run([*COMMAND, "program.hip", "-o", "program"], cwd=folder, check=True)
    return rocm_perf_in(folder, "run", "--device", "gfx942", "./program").stdout.splitlines()
