"""Compiles the HIP programs of these tests, and traces programs with the built-in tracer."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import hip_compiler
from rocm_perf_lab.collect import device as devices

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def writer(native_dir: Path) -> Path:
    return native_dir / "bin" / "rocmperf-rocpd-writer"


@pytest.fixture(scope="session")
def device(native_dir: Path, tmp_path_factory: pytest.TempPathFactory, hipcc: str) -> devices.Device:
    """The GPU, or the software device if there is none."""
    return devices.select(devices.AUTO, tmp_path_factory.mktemp("device"))


@pytest.fixture(scope="session")
def compile_hip(device: devices.Device, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """compile_hip(source, *flags) is the compiled program (once per session)."""
    folder, compiled = tmp_path_factory.mktemp("hip"), {}

    def compile_once(source: Path, *flags: str) -> Path:
        key = (source, flags)
        if key not in compiled:
            target = folder / f"{source.stem}{len(compiled)}"
            hip_compiler.compile_hip(f"--offload-arch={device.target}", "-O3", *flags, "-o", target, source)
            compiled[key] = target
        return compiled[key]

    return compile_once


@dataclass(frozen=True)
class Run:
    process: subprocess.CompletedProcess[str]
    path: Path

    def query(self, sql: str) -> list[tuple]:
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(scope="session")
def traced(device: devices.Device, native_dir: Path) -> Callable[..., Run]:
    """traced(database, program, *arguments) runs the program until it ends, in whatever way, and waits for the database.

    With `kill_after` it is killed after that many seconds, and there may be no database.
    """
    library = native_dir / "lib" / "librocmperf_tracer.so"

    def run(
        database: Path, *command: object, preload: bool = True, seconds: float = 60, kill_after: float | None = None
    ) -> Run:
        environment = device.environment(os.environ, (library,)) | {"ROCM_PERF_TRACE": str(database)}
        if preload:
            environment["LD_PRELOAD"] = str(library)
        process = subprocess.Popen(
            list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=kill_after or seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            if kill_after is None:
                raise
        wait_for(lambda: not spool_of(database).exists() and (kill_after is not None or database.exists()), seconds)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, output), database)

    return run


def spool_of(database: Path) -> Path:
    return database.with_name(database.name + ".spool")


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
