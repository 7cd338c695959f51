"""The race check finds planted races and says nothing about correct kernels."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "programs" / "races.hip"
RACES_FOUND = 35

PLANTED = {
    "missing_barrier": r"race in LDS, .*ds_write_b32",
    "plain_histogram": r"race in global memory, .*global_load_dword.* and store .*global_store_dword",
    "cross_wave": r"race in global memory, .*store by wave \d+ of workgroup (\d+) .* and store by wave \d+ of workgroup \1 ",
    "unwritten_lds": r"read of LDS that nothing has written, 192 times, .*ds_read",
}
CORRECT = ["with_barrier", "atomic_histogram", "last_block_sums", "bytes"]
TESTBED = ["vcopy", "softmax_testbed", "pipeline", "reduction", "histogram", "gemm", "stencil"]


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory, hipcc: str) -> Path:
    program = tmp_path_factory.mktemp("hip") / "races"
    subprocess.run(["hipcc", "--offload-arch=gfx942", "-O2", "-o", program, SOURCE], check=True, capture_output=True)
    return program


@pytest.fixture
def check(rocm_perf, native_dir):
    def check(program: Path, *arguments: str, seed: int = 1) -> subprocess.CompletedProcess[str]:
        return rocm_perf("run", "--device", "gfx942", "--device-option", f"race-check={seed}", program, *arguments)

    return check


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_race_is_found_under_every_seed(check, races, name: str) -> None:
    for seed in (0, 7):
        done = check(races, name, seed=seed)
        assert done.returncode == RACES_FOUND, done.stderr
        found = [line for line in done.stderr.splitlines() if re.search(PLANTED[name], line)]
        assert len(found) >= 1 and all(f"kernel {name}(" in line for line in found), done.stderr
        pairs = [tuple(sorted(re.findall(r"entry \+ (0x\w+)", line))) for line in done.stderr.splitlines() if "race in" in line]
        assert len(pairs) == len(set(pairs)), "a pair of instructions is reported once"


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_kernel_is_not_accused(check, races, name: str) -> None:
    for seed in (0, 7):
        done = check(races, name, seed=seed)
        assert done.returncode == 0 and "race-check" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", TESTBED)
def test_correct_programs_keep_their_results(check, testbed, name: str) -> None:
    done = check(testbed(name))
    assert done.returncode == 0 and "race-check" not in done.stderr, done.stderr
    assert "PASS" in done.stdout


def test_options_are_checked_before_anything_runs(rocm_perf, native_dir) -> None:
    for option, words in {"race-checks": "there is no such option", "kernel-limit=many": "not a whole number"}.items():
        done = rocm_perf("run", "--device", "gfx942", "--device-option", option, "true")
        assert done.returncode == 2 and words in done.stderr and option in done.stderr
