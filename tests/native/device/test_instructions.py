"""HIP programs with instructions that are easy to get wrong, run through all of HIP and compared with NumPy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hip_compiler import compile_hip

PROGRAM = Path(__file__).parents[2] / "programs" / "instructions.hip"
LANES = np.arange(64, dtype=np.uint32)
NUMBERS = np.random.default_rng(7).standard_normal(64).astype(np.float32)
TINY = np.ldexp(np.float32(1.5), -np.arange(64) * 2 - 24).astype(np.float32)  # normal, denormal, zero
SMALLEST = np.finfo(np.float32).tiny


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("instructions")

    def build(*flags: str) -> Path:
        program = folder / "_".join(["instructions", *flags])
        if not program.exists():
            always = ["--offload-arch=gfx942", "-O3", "-std=c++20", "-w", "-DOCML_BASIC_ROUNDED_OPERATIONS"]
            compile_hip(*always, *flags, "-o", program, PROGRAM)
        return program

    return build


@pytest.fixture(scope="module")
def run(native_dir: Path, tmp_path_factory: pytest.TempPathFactory):
    from rocm_perf_lab.collect import device as devices

    def run(program: Path, name: str, numbers: np.ndarray = NUMBERS, option: str = "") -> np.ndarray | str:
        """The results' bits, or the text on stderr."""
        options = [option] if option else []
        device = devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device"), options)
        environment = device.environment(os.environ)
        done = subprocess.run([program, name], input=numbers.tobytes(), env=environment, capture_output=True, timeout=60)
        if done.returncode:
            return done.stderr.decode()
        return np.array([int(line, 16) for line in done.stdout.split()], np.uint32)

    return run


@pytest.mark.parametrize("name", ["lds_wrap", "lds_wrap_by_hand"])
@pytest.mark.parametrize("option", ["", "lds-check"])
def test_lds_addresses_wrap(compiled, run, name, option) -> None:
    assert np.array_equal(run(compiled(), name, option=option), LANES)


def test_reads_beyond_the_lds(compiled, run) -> None:
    last = np.where(LANES % 2, 64, 0)  # only the first word of the last pair is inside
    assert np.array_equal(run(compiled(), "lds_beyond"), last ^ (LANES + 1))
    complaint = run(compiled(), "lds_beyond", option="lds-check")
    assert "LDS access out of range: ds_read2_b32" in complaint and "address 0xf00000" in complaint


@pytest.mark.parametrize(("name", "function"), [("sines", np.sin), ("cosines", np.cos)])
def test_angles_of_many_revolutions(compiled, run, name, function) -> None:
    angles = np.linspace(-3071, 200_000, 64).astype(np.float32)
    got = run(compiled(), name, angles).view(np.float32).astype(np.float64)
    turns = (angles * np.float32(1 / (2 * np.pi))).astype(np.float64)  # the instruction's operand
    assert np.abs(got - function(2 * np.pi * turns)).max() < 1e-6
    near = np.abs(angles) < 4000
    assert near.any() and np.abs(got - function(angles.astype(np.float64)))[near].max() < 1e-3


def flushed(numbers: np.ndarray) -> np.ndarray:
    return np.where(np.abs(numbers) < SMALLEST, np.float32(0), numbers)


DENORMALS = {"quarters": lambda x: x * np.float32(0.25), "quotients": lambda x: x / np.float32(3), "roots": np.sqrt}


@pytest.mark.parametrize("name", DENORMALS)
def test_denormals_are_treated_as_the_compiler_specifies(compiled, run, name) -> None:
    kept = run(compiled(), name, TINY).view(np.float32)
    assert np.array_equal(kept, DENORMALS[name](TINY)) and (kept[kept != 0] < SMALLEST).any() == (name != "roots")
    lost = run(compiled("-fgpu-flush-denormals-to-zero"), name, TINY).view(np.float32)
    expected = flushed(DENORMALS[name](flushed(TINY)))
    assert np.allclose(lost, expected, rtol=3e-7, atol=0) and (lost == 0).sum() > (kept == 0).sum()


ROUNDED = {
    "sums_up": (np.add, np.inf),
    "sums_down": (np.add, -np.inf),
    "sums_toward_zero": (np.add, 0.0),
    "products_up": (np.multiply, np.inf),
    "products_down": (np.multiply, -np.inf),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_modes(compiled, run, name) -> None:
    operation, toward = ROUNDED[name]
    got = run(compiled(), name).view(np.float32)
    exact = operation(NUMBERS.astype(np.float64), np.float64(np.float32(0.1)))  # sums and products fit in 53 bits
    nearest = exact.astype(np.float32)
    beyond = np.abs(nearest) > np.abs(exact) if toward == 0.0 else (nearest - exact) * np.sign(toward) < 0
    expected = np.where(beyond, np.nextafter(nearest, np.float32(toward)), nearest)
    assert np.array_equal(got, expected) and not np.array_equal(got, nearest)


def test_a_kernel_sees_where_it_runs(compiled, run) -> None:
    smid, xcc, place = run(compiled(), "places").reshape(-1, 3).T
    group = np.arange(smid.size) // 4
    assert np.array_equal(xcc, group % 8)  # workgroups are assigned to the XCDs in turn
    unit, engine, simd = place >> 8 & 15, place >> 13 & 3, place >> 4 & 3
    assert np.array_equal(smid, xcc << 6 | engine << 4 | unit) and len(set(smid.tolist())) == 304
    assert all(set(simd[group == g]) == {0, 1, 2, 3} for g in range(640))
    assert len(set(zip(xcc.tolist(), place.tolist(), strict=True))) == smid.size  # all at once: no slot is shared
