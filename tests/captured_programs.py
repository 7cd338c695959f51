"""Fixtures for tests/isolate and tests/replaying: HIP programs to capture, and captures of them, each made once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.isolate import Capture, capture

PROGRAMS = Path(__file__).parent / "programs" / "isolate"
DEVICE = "gfx942"

# Two folders use these fixtures, and pytest treats them as separate fixtures in each.
_PROGRAMS_MADE: dict[tuple, Path] = {}
_CAPTURES_MADE: dict[tuple, Capture] = {}


@pytest.fixture(scope="session")
def compiled(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """compiled("library", "-shared", suffix=".so"): the HIP source (a name or a path), compiled with these flags."""
    folder, made = tmp_path_factory.mktemp("compiled"), _PROGRAMS_MADE

    def compile_once(source: str | Path, *flags: str, suffix: str = "") -> Path:
        key = (source, flags)
        if key not in made:
            file = source if isinstance(source, Path) else PROGRAMS / f"{source}.hip"
            made[key] = folder / f"{file.stem}_{len(made)}{suffix}"
            compile_hip(f"--offload-arch={DEVICE}", "-O2", *flags, "-o", made[key], file)
        return made[key]

    return compile_once


@pytest.fixture(scope="session")
def features(compiled) -> Path:
    """A program that launches kernels in many ways, one for each word of its command line."""
    return compiled("features")


@pytest.fixture(scope="session")
def module(compiled) -> Callable[..., Path]:
    """module("-DFACTOR=3"): the kernels mix and halve as a code object."""
    return lambda *flags: compiled("library", "--offload-device-only", "--no-gpu-bundle-output", *flags, suffix=".hsaco")


@pytest.fixture(scope="session")
def library(compiled) -> Path:
    """A shared library with the kernel mix."""
    return compiled("library", "-shared", "-fPIC", "-DWITH_LAUNCHER", suffix=".so")


@pytest.fixture(scope="session")
def run_plainly(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run_plainly(program, *arguments) on the software device, without any tool of these tests."""
    device = devices.select(DEVICE, tmp_path_factory.mktemp("device"))

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = list(map(str, words))
        return subprocess.run(command, env=device.environment(os.environ), capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="session")
def captured(testbed, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Capture]:
    """captured("vcopy", "vecCopy", 1, "-n", "1000"): dispatch 1 of vecCopy in that program with these arguments."""
    made = _CAPTURES_MADE

    def make(program: str | Path, kernel: str, dispatch: int = 0, *arguments: object, **options) -> Capture:
        key = (program, kernel, dispatch, arguments, tuple(sorted(options.items())))
        if key not in made:
            binary = testbed(program) if isinstance(program, str) else program
            folder = tmp_path_factory.mktemp("capture")
            made[key] = capture([str(binary), *map(str, arguments)], kernel, dispatch, folder, device=DEVICE, **options)
        return made[key]

    return make
