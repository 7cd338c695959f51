"""Every testbed program, as the compiler makes it at every level, gives right and repeatable results on the software device."""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices
from slow_variants import only

BUILT = "-O3"  # the level of the programs in the build, which uses the same options as here
LEVELS = (BUILT, "-O0", "-O1", "-O2", "-g", "-g -O0")  # hipcc chooses -O3 where a level is not given, so also with -g

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
EACH_TIME = [*((source, BUILT) for source in SMALL), *((source, "-O0") for source in [*SMALL][::6])]
NAMES = {source: Path(source).stem for source in SMALL if source.startswith("testbed/")} | {
    "testbed/softmax.hip": "softmax_testbed"
}
# On gfx1030, ds_bpermute, which HIP uses for shuffles, moves nothing between the halves of a wave of 64 lanes.
SHUFFLES = {"testbed/attention.cu", "testbed/reduction.hip", "tests/programs/mathfunctions.hip"}
RDNA_VARIANTS = [
    *itertools.product(SMALL, ("-O0", "-O1", "-O2", "-O3")),
    *itertools.product(sorted(SMALL.keys() - SHUFFLES), ("-O0 -mwavefrontsize64", "-O3 -mwavefrontsize64")),
]
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
def variants(testbed: Callable[[str], Path], repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """variants("testbed/gemm.hip", "-O0") is the program compiled with these options, without a warning."""
    folder = tmp_path_factory.mktemp("variants")

    @functools.cache
    def compiled(source: str, level: str, target: str = devices.SOFTWARE_TARGET) -> Path:
        if level == BUILT and source in NAMES and target == devices.SOFTWARE_TARGET:
            return testbed(NAMES[source])
        program = folder / f"{Path(source).stem}{level.replace(' ', '')}-{target}"
        flags = [*level.split(), "-x", "hip", "-std=c++20", "-Wall", "-Wextra", f"--offload-arch={target}"]
        made = compile_hip(*flags, "-o", program, repository / source, check=False)
        assert made.returncode == 0 and "warning:" not in made.stderr, made.stderr
        return program

    return compiled


@pytest.fixture(scope="session")
def rdna_variants(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The program compiled for gfx1030, with waves of 32 lanes where the source has a constant for their size."""
    folder = tmp_path_factory.mktemp("rdna")

    @functools.cache
    def compiled(source: str, level: str) -> Path:
        text = (repository / source).read_text()
        copy = folder / f"{Path(source).stem}{level.replace(' ', '')}.hip"
        copy.write_text(text if "wavefrontsize64" in level else text.replace("kWave = 64", "kWave = 32"))
        flags = [*level.split(), "-x", "hip", "-std=c++20", "-w", "--offload-arch=gfx1030"]
        folders = [f"-I{(repository / place).parent}" for place in (source, "testbed/check.h")]
        made = compile_hip(*flags, *folders, "-o", copy.with_suffix(""), copy, check=False)
        assert made.returncode == 0, made.stderr
        return copy.with_suffix("")

    return compiled


@pytest.fixture(scope="session")
def run_on_device(
    native_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run_on_device(program, *arguments, threads=2): the device uses that many host threads."""
    by_target = {
        target: devices.select(target, tmp_path_factory.mktemp("device"))
        for target in (devices.SOFTWARE_TARGET, "gfx90a", "gfx950", "gfx1030")
    }

    def run(
        program: Path, *arguments: str, threads: int = 2, target: str = devices.SOFTWARE_TARGET
    ) -> subprocess.CompletedProcess[str]:
        environment = by_target[target].environment(os.environ) | {"ROCM_PERF_DEVICE_THREADS": str(threads)}
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.parametrize("source, level", only(EACH_TIME, itertools.product(SMALL, LEVELS)))
def test_results_are_right_and_the_same_on_one_and_two_host_threads(source, level, variants, run_on_device) -> None:
    program = variants(source, level)
    first, second = (run_on_device(program, *SMALL[source], threads=threads) for threads in (1, 2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.startswith("PASS")
    assert first.stdout == second.stdout


@pytest.mark.slow
@pytest.mark.parametrize("target", ("gfx90a", "gfx950"))
@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2", "-O3"))
@pytest.mark.parametrize("source", SMALL)
def test_results_are_right_on_other_targets_of_cdna(source, level, target, variants, run_on_device) -> None:
    completed = run_on_device(variants(source, level, target), *SMALL[source], target=target)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.startswith("PASS")


@pytest.mark.slow
@pytest.mark.parametrize("source, level", RDNA_VARIANTS)
def test_results_are_right_on_gfx1030(source, level, rdna_variants, run_on_device) -> None:
    completed = run_on_device(rdna_variants(source, level), *SMALL[source], target="gfx1030")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.startswith("PASS")


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
def test_wrong_usage_is_explained(arguments, variants, run_on_device) -> None:
    completed = run_on_device(variants("testbed/gemm.hip", "-O3"), *arguments)
    assert (completed.returncode, completed.stdout) == (64, "")
    assert completed.stderr.startswith(arguments[0]) and "usage: gemm" in completed.stderr


def test_the_whole_testbed_is_tested(repository: Path) -> None:
    sources = {f"testbed/{path.name}" for path in (repository / "testbed").iterdir() if path.suffix in (".hip", ".cu")}
    assert sources == {source for source in SMALL if source.startswith("testbed/")}
