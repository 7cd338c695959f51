"""A dispatch, captured in one process, gives the same bytes in another one, at the same addresses."""

from __future__ import annotations

import ctypes
import json
import re
import struct
from pathlib import Path

import pytest

from damaged_captures import with_json, with_last_region_at
from published_schemas import expect_published
from rocm_perf_lab.replaying import replay, reserve_check

# Kernels of the testbed, with arguments that leave waves and tiles partly filled. test_every_dispatch covers all of them.
TESTBED = [
    ("softmax_testbed", "softmax_lds", 0, "--rows", "70", "--cols", "33"),
    ("pointer_chase", "chase_wave", 0, "--bytes", "8192", "--hops", "100"),
    ("gemm", "gemm_mfma", 0, "-n", "48"),
    ("reduction", "reduce_shuffle", 1, "-n", "20001"),
]

# Each is one way of launching or of using memory. Where there are several dispatches, one in the middle is taken.
FEATURES = [
    ("dimensions", "three_dimensions", 0),
    ("variables", "through_variables", 0),
    ("scratch", "with_scratch", 0),
    ("lds", "with_dynamic_lds", 0),
    ("list", "follow", 0),
    ("streams", "scale", 4),
    ("threads", "accumulate", 33),
    ("host_function", "accumulate", 1),
    ("graph", "scale", 11),
    ("pinned", "accumulate", 0),
    ("registered", "accumulate", 0),
]


def changed_bytes(result) -> int:
    return sum(region.expected_changed_bytes for region in result.document.comparison.regions)


def expect_the_captured_bytes(case, **options):
    result = replay(case, iterations=2, compare=True, device="gfx942", **options)
    assert result.equal, result.differing_regions
    assert changed_bytes(result) > 0  # otherwise a kernel that does nothing would pass
    return result


@pytest.mark.parametrize("program, kernel, dispatch, arguments", [(p, k, d, a) for p, k, d, *a in TESTBED])
def test_the_testbeds_kernels(captured, program, kernel, dispatch, arguments):
    case = captured(program, kernel, dispatch, *arguments)
    assert kernel in case.kernel
    expect_the_captured_bytes(case)


def test_what_a_kernel_writes_is_known_with_a_race_check(captured):
    case = captured("gemm", "gemm_mfma", 0, "-n", "48")
    result = replay(case, iterations=2, compare=True, device="gfx942", device_options=("race-check",))
    ((begin, end),) = result.written
    assert end - begin == 48 * 48 * 4 >= changed_bytes(result) > 0
    assert replay(case, iterations=1, device="gfx942").written == ()


@pytest.mark.parametrize("way, kernel, dispatch", FEATURES)
def test_ways_of_launching_and_of_using_memory(captured, features, run_plainly, tmp_path, way, kernel, dispatch):
    with (tmp_path / "output").open("w") as output:
        case = captured(features, kernel, dispatch, way, output=output)
    assert kernel in case.kernel
    assert (tmp_path / "output").read_text() == run_plainly(features, way).stdout  # the program was not harmed
    assert not case.dispatch["not_captured"]
    expect_the_captured_bytes(case)


def test_kernels_in_libraries_and_modules(captured, features, library, module):
    expect_the_captured_bytes(captured(features, "mix", 0, "library", library))
    expect_the_captured_bytes(captured(features, "mix", 0, "module", module()))


def test_memory_read_through_copies_gives_the_same_capture(captured, features, monkeypatch):
    direct = captured(features, "scale", 5, "graph")
    monkeypatch.setenv("ISOLATE_STAGED", "1")
    staged = captured(features, "scale", 5, "graph", zstd_level=1)
    addresses = [struct.unpack_from("<QQ", (case.path / "kernarg.bin").read_bytes()) for case in (direct, staged)]
    for of_direct, of_staged in zip(*addresses, strict=True):
        for after in (False, True):
            assert direct.memory(of_direct, 4 * COUNT, after=after) == staged.memory(of_staged, 4 * COUNT, after=after)
    expect_the_captured_bytes(staged)


def test_poisoned_outputs_are_written_again(captured):
    expect_the_captured_bytes(captured("vcopy", "vecCopy", 0, "-n", "10001"), poison=0xA5, warmup=1, flush_cache=True)


def test_every_address_range_can_be_mapped(captured, features):
    case = captured(features, "follow", 0, "list")
    check = reserve_check(case, device="gfx942")
    assert check.outcome == "exact"
    assert [int(r.base, 16) for r in check.ranges] == [r.base for r in case.regions] == [int(r.got, 16) for r in check.ranges]


# ---- stateless and stateful ----

COUNT = 5000


def values_of(folder: Path, address: int) -> list[int]:
    """The unsigned numbers at `address` in the output of --dump-output."""
    for region in json.loads((folder / "outputs.json").read_text())["regions"]:
        base = int(region["base"], 16)
        if base <= address < base + region["bytes"]:
            content = (folder / region["file"]).read_bytes()
            assert len(content) == region["bytes"]
            return list(struct.unpack_from(f"<{COUNT}I", content, address - base))
    raise AssertionError(f"{address:#x} is in no region that changed")


@pytest.mark.parametrize("recopy, effect", [(True, 1), (False, 5)])
def test_an_accumulating_kernel(captured, features, tmp_path, recopy, effect):
    case = captured(features, "accumulate", 1, "accumulate")
    address = struct.unpack_from("<Q", (case.path / "kernarg.bin").read_bytes())[0]
    before = struct.unpack(f"<{COUNT}I", case.memory(address, 4 * COUNT))
    result = replay(case, iterations=5, recopy=recopy, warmup=2, dump=tmp_path / "dump", compare=True, device="gfx942")
    expected = [(value + effect * (i + 1)) % 2**32 for i, value in enumerate(before)]
    assert values_of(tmp_path / "dump", address) == expected
    assert result.equal == recopy
    assert result.document.execution.mode == ("stateless" if recopy else "stateful")


# ---- the command line ----


def test_the_newest_capture_is_the_default_and_the_lines_are_as_documented(captured, features, rocm_perf):
    case = captured(features, "accumulate", 1, "accumulate")
    done = rocm_perf("replay", "full-vm", "--iterations", 3, "--compare", cwd=case.path.parent)
    assert done.returncode == 0, done.stderr
    for line in (
        r"Memory reconstructed\.", "Iterations: 3", "Recopy between iterations: yes",
        r"Average GPU time: \d+\.\d+ ms", r"Total wall time: \d+\.\d+ ms",
    ):  # fmt: skip
        assert re.search(rf"(?m)^{line}$", done.stdout), line
    done = rocm_perf("replay", "reserve-check", cwd=case.path.parent)
    assert done.returncode == 0 and done.stdout.endswith("Every range: exact\n")


def test_json(captured, features, rocm_perf):
    case = captured(features, "accumulate", 1, "accumulate")
    arguments = ["--capture-dir", case.path, "--iterations", 4, "--no-recopy", "--json"]
    done = rocm_perf("replay", "full-vm", *arguments)
    document = json.loads(done.stdout)
    expect_published("replay full-vm", document)
    assert (
        document["kernel"]["name"].startswith("accumulate(") and document["kernel"]["hsaco_path"] == f"{case.path}/kernel.hsaco"
    )
    assert document["execution"]["iterations"] == 4 and document["execution"]["mode"] == "stateful"
    timing = document["timing"]
    assert timing["unit"] == "ms" and timing["source"] == "modelled"
    assert timing["average"] == pytest.approx(sum(timing["iterations"]) / 4)
    assert timing["min"] <= timing["median"] <= timing["max"] and len(timing["iterations"]) == 4
    assert document["environment"]["gpu_agent"] == "gfx942" and document["environment"]["pid"] > 0
    assert document["comparison"] is None


def test_no_capture_here(rocm_perf):
    done = rocm_perf("replay", "full-vm")
    assert done.returncode == 66 and "there is no capture in" in done.stderr and not done.stdout


# ---- addresses that cannot be mapped ----


@pytest.fixture
def at_another_place(captured, features, tmp_path):
    """at_another_place(base): an intact capture with one region at that address."""
    case = captured(features, "accumulate", 1, "accumulate")
    return lambda base: with_last_region_at(case.path, tmp_path / "moved", base)


def test_a_range_that_no_process_can_map(captured, features, tmp_path, rocm_perf):
    case = captured(features, "accumulate", 1, "accumulate", zstd_level=1)

    def enlarge(document: dict) -> None:
        document["regions"][-1]["bytes"] = 1 << 47

    capture = with_json(case.path, tmp_path / "large", "memory_regions.json", enlarge)
    done = rocm_perf("replay", "reserve-check", "--capture-dir", capture, "--json")
    expect_published("replay reserve-check", json.loads(done.stdout))
    assert done.returncode == 1 and json.loads(done.stdout)["outcome"] == "failed"
    done = rocm_perf("replay", "full-vm", "--capture-dir", capture)
    assert done.returncode == 39 and f"{1 << 47} bytes" in done.stderr and not done.stdout


def test_a_range_that_the_process_itself_uses(at_another_place, rocm_perf):
    capture = at_another_place(0x5555_5555_4000)  # where Linux places programs without address randomisation
    done = rocm_perf("replay", "reserve-check", "--capture-dir", capture, "--json", preexec_fn=put_nothing_at_random)
    assert done.returncode == 2 and json.loads(done.stdout)["outcome"] == "relocated", done.stdout
    done = rocm_perf("replay", "full-vm", "--capture-dir", capture, preexec_fn=put_nothing_at_random)
    assert done.returncode == 39 and "0x555555554000" in done.stderr
    # With randomisation, the process retries until it is out of the way.
    assert rocm_perf("replay", "full-vm", "--capture-dir", capture, "--iterations", 1).returncode == 0


def put_nothing_at_random() -> None:
    address_no_randomize = 0x0040000
    ctypes.CDLL(None).personality(address_no_randomize)
