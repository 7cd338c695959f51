"""Launches with a different shape than the captured one leave the same memory as the host's own launch with that shape."""

from __future__ import annotations

import itertools
import struct

import pytest

from captured_programs import PROGRAMS
from hip_compiler import compile_hip
from rocm_perf_lab.errors import UnfitCodeError
from rocm_perf_lab.replaying import Case, LaunchConfiguration, replay, replay_cases

WORDS = 1 << 16
LAUNCHES = (
    LaunchConfiguration((8, 1, 1), (64, 1, 1), 1024),
    LaunchConfiguration((3, 2, 2), (16, 4, 2), 512),
    LaunchConfiguration((1, 1, 1), (1024, 1, 1), 4096),
    LaunchConfiguration((40, 1, 1), (96, 1, 1), 384),
)


def words_of(launch: LaunchConfiguration) -> list[str]:
    return [*(",".join(map(str, extent)) for extent in (launch.groups, launch.group_size)), str(launch.dynamic_lds)]


def left_by(capture, folder) -> list[bytes]:
    """The kernel's buffer after the capture was replayed with each of LAUNCHES."""
    outcomes = replay_cases(capture, [Case(launch=launch) for launch in LAUNCHES], folder, device="gfx942")
    assert not any(outcome.failure for outcome in outcomes), outcomes
    return [dumped(capture, outcome.dump) for outcome in outcomes]


def dumped(capture, folder) -> bytes:
    address = buffer_of(capture)
    (region,) = [r for r in capture.regions if r.base <= address < r.base + r.bytes]
    content = (folder / f"region_{region.base:x}.bin").read_bytes()
    return content[address - region.base :][: 4 * WORDS]


def buffer_of(capture) -> int:
    return struct.unpack_from("<Q", (capture.path / "kernarg.bin").read_bytes())[0]


@pytest.fixture(scope="module")
def shapes(captured, compiled):
    return [captured(compiled("shapes"), "shapes", 0, *words_of(launch)) for launch in LAUNCHES]


def test_every_launch_equals_the_one_by_the_host(shapes, tmp_path):
    """Results, and the bytes of the hidden arguments as the kernel itself reads them."""
    expected = [one.memory(buffer_of(one), 4 * WORDS, after=True) for one in shapes]
    assert all(one != other for one, other in itertools.combinations(expected, 2))
    assert left_by(shapes[1], tmp_path) == expected


def test_without_options_the_launch_is_the_captured_one(shapes, rocm_perf):
    done = rocm_perf("replay", "full-vm", "--capture-dir", shapes[1].path, "--iterations", 2, "--compare", "--json")
    assert done.returncode == 0, done.stderr
    assert '"launch_as_captured": true' in done.stdout


def test_omitted_parts_of_the_shape_stay_as_captured(shapes, rocm_perf):
    group = ("--group-size", "16,4,2")  # from shapes[1]: the same launch, written differently
    done = rocm_perf("replay", "full-vm", "--capture-dir", shapes[1].path, "--iterations", 1, "--compare", *group)
    assert done.returncode == 0 and "48 x 8 x 4 work-items in workgroups of 16 x 4 x 2, 512 bytes" in done.stdout, done


@pytest.mark.parametrize(
    "options, why",
    [
        (("--groups", "0"), "not one to three numbers"),
        (("--groups", "1,2,3,4"), "not one to three numbers"),
        (("--group-size", "33,32"), "1 to 1024"),
        (("--groups", "4294967295", "--group-size", "2"), "a grid has 1 to"),
    ],
)
def test_a_launch_that_no_queue_accepts_is_refused(shapes, rocm_perf, options, why):
    done = rocm_perf("replay", "full-vm", "--capture-dir", shapes[0].path, *options)
    assert done.returncode == 2 and why in done.stderr and len(done.stderr.splitlines()) == 1, done


def test_a_workgroup_can_have_the_lds_of_the_captured_gpu(shapes, rocm_perf, tmp_path):
    words = ("replay", "full-vm", "--iterations", 1, "--capture-dir")
    done = rocm_perf(*words, shapes[0].path, "--dynamic-lds", 65540)
    assert done.returncode == 2 and "there are 65536" in done.stderr, done
    compile_hip("--offload-arch=gfx950", "-O2", "-o", tmp_path / "shapes", PROGRAMS / "shapes.hip")
    device = ("--device", "gfx950")
    done = rocm_perf("isolate", *device, "-k", "shapes", "-o", tmp_path, tmp_path / "shapes", *words_of(LAUNCHES[0]))
    assert done.returncode == 0, done.stderr
    done = rocm_perf(*words, tmp_path / "isolate_capture", *device, "--dynamic-lds", 160 * 1024)
    assert done.returncode == 0 and "163840 bytes of dynamic LDS" in done.stdout, done


def test_hidden_arguments_that_were_not_captured_are_supplied(captured, compiled, shapes, tmp_path):
    """The captured kernel has none of them; its replacement has all."""
    plain = captured(compiled("shapes", "-DPLAIN"), "shapes", 0, *words_of(LAUNCHES[0]))
    replay(plain, hsaco=shapes[0].code_object, iterations=1, dump=tmp_path / "dump", device="gfx942")
    assert dumped(plain, tmp_path / "dump") == shapes[0].memory(buffer_of(shapes[0]), 4 * WORDS, after=True)


@pytest.mark.slow
def test_code_for_another_workgroup_size_is_refused(captured, features, module):
    with pytest.raises(UnfitCodeError, match="128 work-items at most"):
        case = captured(features, "mix", 0, "module", module())
        replay(case, hsaco=module("-DBOUNDS=128"), launch=LaunchConfiguration((1, 1, 1), (256, 1, 1)), device="gfx942")
