"""The native programs that tests run, built with sanitizers: the engine has no undefined behaviour, bounds errors or races.

./dev test -m slow tests/native/device/test_sanitizers.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROBES = ("rpd_isa_probe", "rpd_cache_probe", "rpd_engine_probe")
# A sanitizer that finds something ends the program with a report on stderr, which the tests show.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sanitizers", "tests"),
    [("address,undefined", ("isa", "memory", "exec")), ("thread", ("exec",))],
    ids=["address and undefined", "thread"],
)
def test_native_tests_are_clean(repository: Path, tmp_path: Path, sanitizers: str, tests: tuple[str, ...]) -> None:
    options = (f"-DRPL_SANITIZE={sanitizers}", "-DRPL_BUILD_TESTBED=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
    subprocess.run(["cmake", "-S", repository, "-B", tmp_path, "-G", "Ninja", *options], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", tmp_path, *PROBES], check=True, capture_output=True)
    environment = os.environ | OPTIONS | {"ROCM_PERF_LAB_NATIVE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(HERE / folder for folder in tests)]
    done = subprocess.run(command, env=environment, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10000:]
    assert "passed" in done.stdout
