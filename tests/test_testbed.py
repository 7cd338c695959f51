"""Every testbed program, as the compiler makes it at every level, gives right and repeatable results on the software device."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocm_perf_lab.collect import device as devices

LEVELS = ("-O0", "-O1", "-O3", "-g")  # hipcc chooses -O3 where a level is not given, so also with -g
LEVELS_WHEN_ASKED = ("-g -O0",)
COMPILERS = 2  # at a time

# Sizes that leave rows, tiles and waves partly filled wherever the program allows it.
SMALL = {
    "testbed/attention.cu": ["--length", "37", "--dim", "20"],
    "testbed/bottlenecks.hip": ["--groups", "3"],
    "testbed/copies.hip": ["--max-bytes", "20000"],
    "testbed/gemm.hip": ["-n", "48"],
    "testbed/histogram.hip": ["-n", "20001", "--skew", "30"],
    "testbed/pipeline.hip": ["-n", "3001", "-c", "2"],
    "testbed/pointer_chase.hip": ["--bytes", "8192", "--hops", "100"],
    "testbed/reduction.hip": ["-n", "20001"],
    "testbed/softmax.hip": ["--rows", "70", "--cols", "33"],
    "testbed/stencil.hip": ["-n", "17"],
    "testbed/vcopy.hip": ["-n", "10001", "-i", "2"],
    "tests/programs/mathfunctions.hip": [],
}
LARGE = {
    "testbed/gemm.hip": ["-n", "512"],
    "testbed/histogram.hip": ["-n", "16777217"],
    "testbed/pointer_chase.hip": ["--bytes", "67108864", "--hops", "100000"],
    "testbed/reduction.hip": ["-n", "16777217"],
    "testbed/softmax.hip": ["--rows", "2048", "--cols", "1023"],
    "testbed/stencil.hip": ["-n", "160"],
    "testbed/vcopy.hip": ["-n", "16777217"],
}


@pytest.fixture(scope="session")
def variants(native_dir: Path, repository: Path, hipcc: str) -> Callable[[str, str], Path]:
    """variants("testbed/gemm.hip", "-O0") is the program compiled so; a changed source or compiler is compiled anew."""
    folder = native_dir / "testbed_variants"
    folder.mkdir(exist_ok=True)
    version = subprocess.run(["hipcc", "--version"], capture_output=True, check=True).stdout
    shared = version + (repository / "testbed" / "check.h").read_bytes()

    def compiled(variant: tuple[str, str]) -> subprocess.CompletedProcess[str] | None:
        target = path(*variant)
        if target.exists():
            return None
        unfinished = target.with_suffix(".unfinished")
        flags = [*variant[1].split(), "-x", "hip", "-std=c++20", "-Wall", "-Wextra", "--offload-arch=gfx942"]
        made = subprocess.run(["hipcc", *flags, "-o", unfinished, repository / variant[0]], capture_output=True, text=True)
        if made.returncode == 0:
            unfinished.rename(target)
        return made

    def path(source: str, level: str) -> Path:
        digest = hashlib.sha256(shared + (repository / source).read_bytes()).hexdigest()[:16]
        return folder / f"{Path(source).stem}{level.replace(' ', '')}-{digest}"

    wanted = [(source, level) for source in SMALL for level in LEVELS]
    with ThreadPoolExecutor(COMPILERS) as pool:
        results = dict(zip(wanted, pool.map(compiled, wanted), strict=True))
    asked = [(source, level) for source in SMALL for level in LEVELS_WHEN_ASKED]
    for old in set(folder.iterdir()) - {path(*variant) for variant in wanted + asked}:
        old.unlink()

    def variant(source: str, level: str) -> Path:
        if (source, level) not in results:
            results[source, level] = compiled((source, level))
        result = results[source, level]
        assert result is None or result.returncode == 0, result.stderr
        assert result is None or "warning:" not in result.stderr, result.stderr
        return path(source, level)

    return variant


@pytest.fixture(scope="session")
def run_on_device(
    native_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run_on_device(program, *arguments, threads=2): the device executes with so many host threads."""
    device = devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device"))

    def run(program: Path, *arguments: str, threads: int = 2) -> subprocess.CompletedProcess[str]:
        environment = device.environment(os.environ) | {"ROCM_PERF_DEVICE_THREADS": str(threads)}
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.parametrize("level", [*LEVELS, *(pytest.param(level, marks=pytest.mark.slow) for level in LEVELS_WHEN_ASKED)])
@pytest.mark.parametrize("source", SMALL)
def test_results_are_right_and_the_same_on_one_and_two_host_threads(source, level, variants, run_on_device) -> None:
    program = variants(source, level)
    first, second = (run_on_device(program, *SMALL[source], threads=threads) for threads in (1, 2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.startswith("PASS")
    assert first.stdout == second.stdout


@pytest.mark.slow
@pytest.mark.parametrize("source", LARGE)
def test_large_sizes(source, variants, run_on_device) -> None:
    completed = run_on_device(variants(source, "-O3"), *LARGE[source])
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.mark.parametrize("source", sorted(source for source in SMALL if source.startswith("testbed/")))
def test_default_sizes(source, variants, run_on_device) -> None:
    completed = run_on_device(variants(source, "-O3"))
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.mark.parametrize("arguments", (["--no-such-option", "1"], ["-n"], ["-n", "0"], ["-n", "x"], ["-n", "17"]))
def test_wrong_usage_says_what_and_how(arguments, variants, run_on_device) -> None:
    completed = run_on_device(variants("testbed/gemm.hip", "-O3"), *arguments)
    assert (completed.returncode, completed.stdout) == (64, "")
    assert completed.stderr.startswith(arguments[0]) and "usage: gemm" in completed.stderr


def test_the_whole_testbed_is_tested(repository: Path) -> None:
    sources = {f"testbed/{path.name}" for path in (repository / "testbed").iterdir() if path.suffix in (".hip", ".cu")}
    assert sources == {source for source in SMALL if source.startswith("testbed/")}
