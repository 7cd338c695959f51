"""The software device as each of its targets: one file with code for several, features in names, what only one can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hip_compiler import compile_hip

PROGRAM = Path(__file__).parents[2] / "programs" / "targets.hip"
EXPECTED = {
    "gfx942": "gfx942:sramecc+:xnack-, 304 compute units: right\n",
    "gfx90a": "gfx90a:sramecc+:xnack-, 110 compute units: right\n",
    "gfx1030": "gfx1030, 36 compute units: right\n",
    "gfx950": "gfx950:sramecc+:xnack-, 256 compute units: right\n",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """built("-O0", "gfx90a") is the program, compiled for these targets."""
    folder = tmp_path_factory.mktemp("targets")

    def build(level: str, *targets: str) -> Path:
        program = folder / "-".join([level.strip("-"), *targets]).replace(":", "")
        flags = [level, "-std=c++20", "-w", *(f"--offload-arch={target}" for target in targets)]
        compile_hip(*flags, "-o", program, PROGRAM)
        return program

    return build


@pytest.mark.parametrize("level", ["-O3", pytest.param("-O0", marks=pytest.mark.slow)])
def test_a_program_for_all_runs_the_code_of_the_device(level, built, rocm_perf):
    program = built(level, *EXPECTED)
    for device, expected in EXPECTED.items():
        done = rocm_perf("run", "--device", device, program)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_generic_code_runs_on_its_targets(built, rocm_perf):
    program = built("-O1", "gfx9-4-generic")
    for device in ("gfx942", "gfx950"):
        done = rocm_perf("run", "--device", device, program)
        assert (done.returncode, done.stdout) == (0, EXPECTED[device]), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("features, code", [("xnack-", 0), ("sramecc+:xnack-", 0), ("xnack+", 53), ("sramecc-", 53)])
def test_features_have_to_match_those_of_the_device(features, code, built, rocm_perf):
    done = rocm_perf("run", "--device", "gfx90a", built("-O1", f"gfx90a:{features}"))
    assert done.returncode == code, done.stderr
