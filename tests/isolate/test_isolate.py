"""The program under `isolate` is not affected by the capture, which is complete or says that it is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import needs
from rocm_perf_lab.errors import CaptureError, NoCaptureError, ProgramFailedError
from rocm_perf_lab.isolate import Capture, capture, newest


@pytest.fixture
def isolate(rocm_perf, features):
    """isolate("accumulate", "--dispatch", 1): the command line on that way of the features program."""

    def run(way: str, *options: object, **more) -> subprocess.CompletedProcess[str]:
        return rocm_perf("isolate", "--device", "gfx942", *options, features, way, **more)

    return run


def captures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("isolate_capture_*"))


def test_a_capture_describes_its_dispatch(isolate, features, tmp_path):
    done = isolate("dimensions", "--kernel", r"three_dim\w+\(unsigned", "--output", tmp_path / "here", "--json")
    assert done.returncode == 0 and "\ndimensions " in f"\n{done.stderr}", done.stderr
    summary = json.loads(done.stdout)
    (path,) = captures_in(tmp_path / "here")
    assert (tmp_path / "here" / "isolate_capture").resolve() == path == newest(tmp_path / "here").resolve()
    case = Capture.open(path, every_byte=True)
    assert case.kernel == "three_dimensions(unsigned int*, int, int, int)" and case.symbol == "_Z16three_dimensionsPjiii"
    packet = case.dispatch["packet"]
    assert packet["workgroup"] == [8, 5, 2] and packet["grid"] == [24, 10, 6] and packet["setup"] & 3 == 3
    assert case.dispatch["agent"]["name"] == case.target == "gfx942"
    described = case.dispatch["kernel"]
    assert described["descriptor_fields"]["kernarg_size"] == described["kernarg_segment_size"]
    assert case.memory(int(packet["kernel_object"], 16), 64).hex() == described["descriptor"]
    origin = case.dispatch["origin"]
    assert path.name == f"isolate_capture_{origin['pid']}"
    assert origin["command"] == [str(features), "dimensions"] and origin["timing"] == "modelled" and case.gpu_time_ns > 0
    kinds = {region.kind for region in case.regions}
    assert {"device", "host", "code"} <= kinds
    kernarg = case.memory(int(packet["kernarg_address"], 16), case.dispatch["kernel"]["kernarg_segment_size"])
    assert kernarg == (path / "kernarg.bin").read_bytes()
    pools = [a for region in case.regions for a in region.allocations if a[0] in case.argument_allocations]
    assert len(pools) == 1 and 0 <= int(packet["kernarg_address"], 16) - pools[0][0] < pools[0][1]
    assert (path / "kernel.hsaco").read_bytes()[:4] == b"\x7fELF"
    assert case.changed_bytes >= 17 * 9 * 5 * 4
    assert Path(summary["capture"]) == path and summary["kernel"] == case.kernel and summary["program_status"] == 0
    assert summary["gpu_time_ns"] == case.gpu_time_ns and summary["changed_bytes"] == case.changed_bytes


def test_the_dispatch_number_counts_only_matching_dispatches(captured, features):
    first, second = (captured(features, "accumulate", number, "accumulate") for number in (0, 2))
    assert [case.dispatch["origin"]["dispatch_index"] for case in (first, second)] == [0, 2]
    address = int.from_bytes((first.path / "kernarg.bin").read_bytes()[:8], "little")
    before, after = (int.from_bytes(case.memory(address + 400, 4), "little") for case in (first, second))
    assert (after - before) % 2**32 == 2 * 101  # there are two dispatches in between, and element 100 grows by 101 in each


def test_compressed_and_plain_captures_hold_the_same(captured, features):
    plain, small = (captured(features, "accumulate", 1, "accumulate", **options) for options in ({}, {"zstd_level": 3}))
    address = int.from_bytes((plain.path / "kernarg.bin").read_bytes()[:8], "little")
    assert plain.memory(address, 20000, after=True) == small.memory(address, 20000, after=True)
    sizes = [sum(f.stat().st_size for f in (case.path / "memory").glob("*.bin")) for case in (plain, small)]
    assert sizes[1] < sizes[0] / 4


@pytest.mark.parametrize(
    "options, why",
    [
        (["--kernel", "nothing_like_it"], "no kernel matches 'nothing_like_it'; dispatched were"),
        (["--kernel", "accumulate", "--dispatch", 3], "only 3 dispatches"),
    ],
)
def test_a_missing_capture_is_explained(isolate, tmp_path, options, why):
    done = isolate("accumulate", *options)
    assert done.returncode == 37 and done.stdout.startswith("accumulate ")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("rocm-perf: error")]
    assert why in line
    assert not captures_in(tmp_path)


def test_a_program_that_uses_no_gpu(rocm_perf, native_dir):
    done = rocm_perf("isolate", "--device", "gfx942", "--kernel", "x", "true")
    assert done.returncode == 37 and "ended without a capture" in done.stderr


def test_the_exit_status_is_that_of_the_program(rocm_perf, features, native_dir):
    done = rocm_perf("isolate", "--device", "gfx942", "--kernel", "x", features, "no such way")
    assert done.returncode == 64 and "error" not in done.stderr
    with pytest.raises(ProgramFailedError):
        capture([str(features), "no such way"], "x", device="gfx942")


# ---- without room ----


def test_a_file_size_limit_costs_the_capture_only(isolate, tmp_path):
    """The write that fails also raises a signal, which would end the program."""
    done = isolate("limited", "--kernel", "accumulate", "--dispatch", 1)
    assert done.returncode == 73 and done.stdout.startswith("limited "), done.stderr
    assert "File too large" in done.stderr
    assert_incomplete(captures_in(tmp_path), "File too large")


def test_a_full_disk_costs_the_capture_only(isolate, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80k", "none", disk], capture_output=True).returncode != 0:
        needs.lacking("no right to mount a small disk")
    try:
        done = isolate("accumulate", "--kernel", "accumulate", "--output", disk)
        assert done.returncode == 73 and done.stdout.startswith("accumulate "), done.stderr
        assert "No space left on device" in done.stderr
        assert_incomplete(captures_in(disk), "No space left on device")
        assert sum(file.stat().st_size for file in disk.rglob("*") if file.is_file()) < 4096  # the disk space is freed
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_cannot_be_made_costs_the_capture_only(isolate, tmp_path):
    (tmp_path / "file").write_text("")
    done = isolate("accumulate", "--kernel", "accumulate", "--output", tmp_path / "file" / "folder")
    assert done.returncode == 73 and done.stdout.startswith("accumulate ")
    assert str(tmp_path / "file") in done.stderr


def assert_incomplete(captures: list[Path], why: str) -> None:
    (path,) = captures
    assert why in (path / "INCOMPLETE").read_text()
    with pytest.raises(CaptureError, match="incomplete"):
        Capture.open(path)


def test_memory_that_was_never_touched_takes_no_space(features, native_dir, tmp_path):
    """Neither in the program, where reading it would allocate pages, nor on disk."""
    from rocm_perf_lab.collect import device as devices

    device = devices.select("gfx942", tmp_path)
    environment = device.environment(os.environ, (native_dir / "lib" / "librocmperf_isolate.so",))
    environment |= {"ISOLATE_KERNEL": "accumulate"}
    process = subprocess.Popen([features, "untouched"], env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    case = Capture.open(newest(tmp_path), every_byte=True)
    assert sum(region.bytes for region in case.regions) > 4 << 30
    assert sum(file.stat().st_blocks * 512 for file in case.path.rglob("*")) < 4 << 20
    assert usage.ru_maxrss < 1 << 20  # KiB


# ---- killed ----


def test_a_kill_leaves_a_recognisably_incomplete_capture(testbed, tmp_path):
    command = [
        sys.executable,
        "-m",
        "rocm_perf_lab",
        "isolate",
        "--device",
        "gfx942",
        "--kernel",
        "vecCopy",
        "--compress",
        "19",
    ]
    process = subprocess.Popen(
        [*command, testbed("vcopy"), "-n", "4000000"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"ROCM_PERF_DEVICE_THREADS": "1"},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("isolate_capture_*/memory/region_*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    (path,) = captures_in(tmp_path)
    os.kill(int(path.name.rpartition("_")[2]), signal.SIGKILL)
    assert process.wait(60) == 128 + signal.SIGKILL
    assert_incomplete([path], "killed")
    assert not (tmp_path / "isolate_capture").exists()


# ---- which kernel ----


@pytest.mark.parametrize("pattern", [r"(?i:THREE)_dim(?P<rest>\w+)\(unsigned", r"\A_Z16three(?=_)", "(?<!four)_dimensions"])
def test_the_pattern_is_a_python_expression_that_matches_either_name(isolate, tmp_path, pattern):
    done = isolate("dimensions", "--kernel", pattern)
    assert done.returncode == 0, done.stderr
    assert Capture.open(newest(tmp_path)).symbol == "_Z16three_dimensionsPjiii"


def test_the_process_that_answers_may_be_gone(features, native_dir, tmp_path):
    """The program continues, and a message says why there is no capture."""
    from rocm_perf_lab.collect import device as devices

    device = devices.select("gfx942", tmp_path)
    environment = device.environment(os.environ, (native_dir / "lib" / "librocmperf_isolate.so",))
    (tmp_path / "ask").mkdir()
    os.mkfifo(tmp_path / "ask" / "bell")
    environment |= {"ISOLATE_KERNEL": "accumulate", "ISOLATE_ASK": str(tmp_path / "ask")}
    done = subprocess.run([features, "accumulate"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "rocm-perf, which decides which kernels to capture, has exited" in done.stderr
    assert not captures_in(tmp_path)


# ---- launchers, several processes ----


def test_the_environment_alone_selects_the_dispatch(features, native_dir, tmp_path):
    from rocm_perf_lab.collect import device as devices

    device = devices.select("gfx942", tmp_path)
    environment = device.environment(os.environ, (native_dir / "lib" / "librocmperf_isolate.so",))
    environment |= {"ISOLATE_KERNEL": "accumulate", "ISOLATE_DISPATCH_INDEX": "2"}
    subprocess.run(["sh", "-c", f"{features} accumulate"], env=environment, cwd=tmp_path, check=True, capture_output=True)
    assert Capture.open(newest(tmp_path)).dispatch["origin"]["dispatch_index"] == 2


@pytest.mark.parametrize(
    "variable, value", [("ISOLATE_DISPATCH_INDEX", "-1"), ("ISOLATE_ZSTD_LEVEL", "20"), ("ISOLATE_STAGED", "yes")]
)
def test_an_invalid_variable_does_not_affect_the_program(features, native_dir, tmp_path, variable, value):
    from rocm_perf_lab.collect import device as devices

    device = devices.select("gfx942", tmp_path)
    environment = device.environment(os.environ, (native_dir / "lib" / "librocmperf_isolate.so",))
    environment |= {"ISOLATE_KERNEL": "accumulate", variable: value}
    done = subprocess.run([features, "accumulate"], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and f"{variable}={value} is not a number" in done.stderr
    assert not captures_in(tmp_path)


def test_the_api_raises_when_nothing_was_captured(features, tmp_path):
    with pytest.raises(NoCaptureError, match="no kernel matches"):
        capture([str(features), "accumulate"], "nothing_like_it", directory=tmp_path, device="gfx942")


def test_pages_that_two_allocations_share_are_one_region(captured, features):
    case = captured(features, "follow", 0, "list")
    regions = json.loads((case.path / "memory_regions.json").read_text())["regions"]
    ends = [int(region["base"], 16) + region["bytes"] for region in regions]
    assert all(end <= int(after["base"], 16) for end, after in zip(ends, regions[1:], strict=False))
    assert sum(len(region["allocations"]) for region in regions) >= 60  # one node each
