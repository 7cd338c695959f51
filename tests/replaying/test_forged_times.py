"""A kernel that writes its own completion signal gains nothing by it, and is reported where the device checks."""

from __future__ import annotations

import json
import subprocess

import pytest

from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.replaying import Case, replay, replay_cases

CHECK = ["memory-check"]
NAMED = "the kernel writes memory that is not its program's: the completion signal of its dispatch, at 0x"


@pytest.fixture
def mix(captured, features, module):
    return captured(features, "mix", 0, "module", module())


def test_the_time_comes_from_the_device(mix, module):
    """However the kernel ends the wait: with 0, with a smaller value, or not at all."""
    honest = replay(mix, hsaco=module(), iterations=2, compare=True, flush_cache=True, device="gfx942")
    for value in ("0", "-7", "99"):
        code = module("-DFORGES", f"-DFORGED_VALUE={value}")
        forged = replay(mix, hsaco=code, iterations=2, compare=True, flush_cache=True, device="gfx942", timeout=20)
        assert forged.equal and min(forged.gpu_ms) >= honest.median_ms > 1e-3, value


def test_counters_of_the_replay_are_returned_too(mix):
    counted = replay(mix, iterations=1, device="gfx942").counted
    waves = -(-5000 // 64)
    assert waves < counted.instructions < 100 * waves and counted.requests_beyond_l2 > 0


def test_the_write_is_named(mix, module, tmp_path):
    assert replay(mix, iterations=1, compare=True, device="gfx942", device_options=CHECK).equal
    with pytest.raises(ReplayFailedError, match=NAMED):
        replay(mix, hsaco=module("-DFORGES"), iterations=1, device="gfx942", device_options=CHECK)
    cases = [Case(), Case(poison=0xA5)]
    outcomes = replay_cases(mix, cases, tmp_path, hsaco=module("-DFORGES"), device="gfx942", device_options=CHECK)
    assert [outcome.gpu_ms for outcome in outcomes] == [None, None] and all(NAMED in outcome.failure for outcome in outcomes)


def test_variables_of_captured_and_of_other_code_may_be_written(captured, features):
    case = captured(features, "through_variables", 0, "variables")
    for code in (None, case.code_object):
        assert replay(case, hsaco=code, iterations=1, compare=True, device="gfx942", device_options=CHECK).equal


def test_a_captured_dispatch_has_the_devices_time(module, features, tmp_path):
    honest = capture([str(features), "module", str(module())], "mix", 0, tmp_path, device="gfx942")
    forged = capture([str(features), "module", str(module("-DFORGES"))], "mix", 0, tmp_path, device="gfx942")
    assert forged.dispatch["outcome"] == "completed" and forged.gpu_time_ns >= honest.gpu_time_ns > 1000


def test_a_trace_has_the_devices_time(module, features, rocm_perf, tmp_path):
    done = rocm_perf("profile", "--device", "gfx942", "--json", "-o", tmp_path / "run", features, "module", module("-DFORGES"))
    assert done.returncode == 0, done.stderr
    kernels = json.loads(done.stdout)["dag"]["symbols"]
    assert [kernel["total_ms"] > 1e-3 for kernel in kernels if kernel["kernel"] == "mix"] == [True]


# ---- on a GPU: what its times are compared with ----

BEFORE, KERNEL, AFTER = (1000, 1010), (2000, 5000), (5050, 5060)
SECOND = 1_000_000_000


@pytest.fixture
def milliseconds(native_dir):
    """milliseconds(before, kernel, after, host milliseconds): the replay's result as text."""
    program = native_dir / "bin" / "rpd_dispatch_times"

    def of(before, kernel, after, host_ms, ticks=SECOND) -> str:
        words = [*before, *kernel, *after, ticks, host_ms]
        return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout.strip()

    return of


def test_times_between_those_of_their_neighbours_are_accepted(milliseconds):
    assert float(milliseconds(BEFORE, KERNEL, AFTER, 1.0)) == pytest.approx(0.003)
    assert float(milliseconds(BEFORE, KERNEL, AFTER, 1.0, ticks=100_000_000)) == pytest.approx(0.03)
    assert float(milliseconds(BEFORE, (BEFORE[1], AFTER[1]), AFTER, 1.0)) == pytest.approx(0.00405)


@pytest.mark.parametrize(
    "kernel, host_ms, words",
    [
        ((1, 2), 1.0, "starts before the packet in front of it has ended"),
        ((1009, 5000), 1.0, "starts before the packet in front of it has ended"),
        ((2000, 5061), 1.0, "ends after the packet that follows it"),
        ((2000, 2000), 1.0, "ends before it starts"),
        ((5000, 2000), 1.0, "ends before it starts"),
    ],
)
def test_times_that_contradict_each_other_are_refused(milliseconds, kernel, host_ms, words):
    assert words in milliseconds(BEFORE, kernel, AFTER, host_ms)


def test_no_kernel_takes_longer_than_the_host_waits(milliseconds):
    after = (3_000_000_000, 3_000_000_001)
    assert "longer than the host waited" in milliseconds(BEFORE, (2000, 2_000_002_000), after, 1990.0 / 1.02)
    assert float(milliseconds(BEFORE, (2000, 2_000_002_000), after, 1990.0)) == pytest.approx(2000.0)
