"""Several software devices in one program: unmodified HIP programs for several GPUs, their results, times and traces."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rocm_perf_lab.arch.products import products
from rocm_perf_lab.arch.timing_parameters import timing_parameters
from rocm_perf_lab.collect import device as devices
from slow_variants import every

Result = dict[str, object]
Ring = Callable[..., Result]
Scenario = Callable[..., subprocess.CompletedProcess[str]]
BYTES = 1 << 20


def _compiled(source: Path, folder: Path, target: str = "gfx942") -> Path:
    program = folder / source.stem
    subprocess.run(["hipcc", f"--offload-arch={target}", "-O2", "-o", program, source], check=True, capture_output=True)
    return program


def _run(
    program: Path, choice: str, folder: Path, *words: str, options: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    device = devices.select(choice, folder, options, several=True)
    environment = device.environment(os.environ | variables)
    return subprocess.run([program, *words], env=environment, capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module")
def ring_program(native_dir: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory, hipcc: str) -> Path:
    return _compiled(repository / "tests" / "programs" / "ring.hip", tmp_path_factory.mktemp("ring"))


@pytest.fixture
def ring(ring_program: Path, tmp_path: Path) -> Ring:
    def ring(choice: str, **variables: str) -> Result:
        done = _run(ring_program, choice, tmp_path, str(BYTES), **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        result: Result = json.loads(done.stdout)
        return result

    return ring


@pytest.mark.parametrize("count", [2, 4])
def test_a_ring_of_copies_and_peer_accesses(ring: Ring, count: int) -> None:
    """With the same results and times on one and two host threads."""
    first, again = (ring(f"gfx942:{count}", ROCM_PERF_DEVICE_THREADS=str(threads)) for threads in (1, 2))
    assert first == again
    assert (first["devices"], first["wrong"]) == (count, 0)


def test_one_device_is_not_a_ring(ring_program: Path, tmp_path: Path) -> None:
    done = _run(ring_program, "gfx942", tmp_path)
    assert done.returncode == 2 and "a ring needs at least two" in done.stderr


@pytest.mark.parametrize("choice", ["gfx942:2", "mi300a:2"])
def test_copies_take_as_long_as_the_link_needs(ring: Ring, choice: str) -> None:
    """Each copy uses the other direction of a link, or another link. HIP copies with a kernel, and so with its overhead."""
    product = next(found for found in products() if found.key == devices.SOFTWARE_PRODUCTS[choice.partition(":")[0]])
    gbps = product.figures.get("timing", {}).get(devices.PEER_LINK) or timing_parameters()[devices.PEER_LINK]["value"]
    at_the_rate = BYTES / gbps / 1000
    copies = ring(choice)["copy_us"]
    assert isinstance(copies, list) and len(set(copies)) == 1
    assert at_the_rate < copies[0] < at_the_rate + 15, (copies, at_the_rate)


def test_visible_devices_select_among_them(ring: Ring) -> None:
    assert ring("gfx942:4", HIP_VISIBLE_DEVICES="3,1")["devices"] == 2
    assert ring("gfx942:4", ROCR_VISIBLE_DEVICES="1,2,3")["devices"] == 3


@pytest.mark.parametrize("target", every(3, ["gfx90a", "gfx1030", "gfx950"]))
def test_two_devices_of_another_target(repository: Path, tmp_path: Path, hipcc: str, target: str) -> None:
    program = _compiled(repository / "tests" / "programs" / "ring.hip", tmp_path, target)
    done = _run(program, f"{target}:2", tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["wrong"] == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def scenario(native_dir: Path, tmp_path_factory: pytest.TempPathFactory, hipcc: str) -> Scenario:
    folder = tmp_path_factory.mktemp("several")
    program = _compiled(Path(__file__).parent / "runtime" / "several_devices.hip", folder)

    def scenario(name: str, *options: str) -> subprocess.CompletedProcess[str]:
        return _run(program, "gfx942:2", folder, name, options=options)

    return scenario


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("waits_near", "turns 40 sum 60\n"),
        ("waits_far", "turns 40 sum 60\n"),
        ("host_memory", "chain wrong 0\nhost wrong 0\n"),
        ("rectangles", "rectangle wrong 0\npool wrong 0\npool wrong 0\n"),
    ],
)
def test_operations_between_devices(scenario: Scenario, name: str, result: str) -> None:
    done = scenario(name)
    assert done.stdout == result, done.stderr


def test_a_kernel_without_access_to_its_peer_fails(scenario: Scenario) -> None:
    done = scenario("no_access")
    assert done.stdout == "hipErrorIllegalAddress\n"
    assert "memory access fault" in done.stderr and "of another device, to whose memory this one has no access" in done.stderr


def test_kernels_that_wait_for_each_other_forever_are_a_deadlock(scenario: Scenario) -> None:
    done = scenario("wait_forever", "deadlock-after=2")
    assert done.stdout.count("hipErrorLaunchFailure") >= 2, done.stderr
    assert "a deadlock" in done.stderr and done.stderr.count("take_turns") >= 3


def test_a_copy_engine_takes_as_long_as_the_link_needs(scenario: Scenario) -> None:
    parameters = {name: entry["value"] for name, entry in timing_parameters().items()}
    needed = (8 << 20) / parameters[devices.PEER_LINK] / 1000 + parameters["copy_overhead_ns"] / 1000
    assert needed < float(scenario("engine_copy").stdout) < needed + 5


def test_hip_is_told_about_the_link(scenario: Scenario) -> None:
    assert scenario("links").stdout == "type 4 hops 1 access 1 atomics 1\n"  # 4: HSA_AMD_LINK_INFO_TYPE_XGMI


def test_a_slower_link_makes_reads_slower(scenario: Scenario) -> None:
    own, peer = map(float, scenario("rate", f"timing.{devices.PEER_LINK}=20").stdout.split())
    assert 18 < peer < 20 < own


def test_a_kernel_reads_its_peer_at_the_link_s_rate(scenario: Scenario) -> None:
    own, peer = map(float, scenario("rate").stdout.split())
    link = timing_parameters()[devices.PEER_LINK]["value"]
    assert 0.9 * link < peer < link < own


def test_the_trace_names_the_devices_and_the_critical_path_crosses_them(
    ring_program: Path, tmp_path: Path, rocm_perf_in: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    run = tmp_path / "ring.rocm-perf"
    rocm_perf_in(tmp_path, "profile", "--device", "gfx942:2", "--runs", 1, "-o", run, ring_program, BYTES)
    with sqlite3.connect(run / ".rocpd_profile" / "base_results.db") as database:
        gpus = {row[0] for row in database.execute("select id from rocpd_info_agent where type = 'GPU'")}
    rows = pq.read_table(run / "dispatches.parquet").to_pylist()
    assert len(gpus) == 2
    assert {row["agent"] for row in rows if row["name"].startswith("add_from_peer")} == gpus
    assert {row["agent"] for row in rows if row["on_path"] and row["kind"] == "dispatch"} == gpus
    idle = json.loads((run / "dag.json").read_text())["idle"]
    assert {found["agent"] for found in idle} == gpus and all(0 < found["fraction"] < 1 for found in idle)
