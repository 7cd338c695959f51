"""Counters, compared with an independent simulation of the address streams, the LDS banks and the active lanes."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from disassembly import compile_kernels, instructions
from hip_compiler import compile_hip

GROUPS, GROUP, WAVE = 256, 256, 64
XCDS, CUS = 8, 38


@pytest.fixture(scope="module")
def dispatches(native_dir, repository, tmp_path_factory, rocm_perf_in) -> dict[str, list[dict[str, float]]]:
    """Kernel name -> counters of its dispatches, in order; "in" and "out" -> the addresses of the buffers."""
    folder = tmp_path_factory.mktemp("caches")
    source = repository / "tests" / "programs" / "caches.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", folder / "caches", source)
    output = rocm_perf_in(
        folder, "profile", "--runs", 1, "--device-option", "flush-l2", "-o", folder / "run", folder / "caches"
    )
    addresses = re.search(r"in (0x[0-9a-f]+) out (0x[0-9a-f]+)", output.stdout + output.stderr)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute(
            "select dispatch_id, name, counter_name, sum(counter_value) from pmc_events group by 1, 2, 3 order by 1"
        ).fetchall()
    found: dict[str, dict[int, dict[str, float]]] = {}
    for dispatch, kernel, counter, value in rows:
        name = re.sub(r"^void |\(.*", "", kernel)
        found.setdefault(name, {}).setdefault(dispatch, {})[counter] = value
    result = {name: list(of.values()) for name, of in found.items()}
    result["in"], result["out"] = (int(a, 16) for a in addresses.groups())
    return result


class Caches:
    """The L1 and the TLB of each CU and the L2 of each XCD, of unlimited size: the data fits, so only first accesses miss."""

    def __init__(self) -> None:
        self.l1: set[tuple[int, int, int]] = set()
        self.pages: set[tuple[int, int, int]] = set()
        self.l2: set[tuple[int, int]] = set()
        self.written: dict[tuple[int, int], set[int]] = {}
        self.counts: Counter[str] = Counter()

    def load(self, xcd: int, cu: int, addresses: list[int]) -> None:
        self.pages |= {(xcd, cu, address >> 21) for address in addresses}
        for first in range(0, WAVE, 16):  # 4 bytes per lane: 16 lanes per look-up
            for line in {address // 128 for address in addresses[first : first + 16]}:
                self.counts["look-ups"] += 1
                if (xcd, cu, line) in self.l1:
                    continue
                self.l1.add((xcd, cu, line))
                self.counts["L2 reads"] += 1
                self._touch(xcd, line, "memory reads")

    def store(self, xcd: int, cu: int, addresses: list[int]) -> None:
        self.pages |= {(xcd, cu, address >> 21) for address in addresses}
        for first in range(0, WAVE, 16):
            self.counts["look-ups"] += len({address // 128 for address in addresses[first : first + 16]})
        for block in {address // 64 for address in addresses}:
            self.counts["L2 writes"] += 1
            self._touch(xcd, block // 2, None)
        for address in addresses:
            self.written.setdefault((xcd, address // 64), set()).add(address % 64 // 32)

    def _touch(self, xcd: int, line: int, count: str | None) -> None:
        hit = (xcd, line) in self.l2
        self.l2.add((xcd, line))
        self.counts["hits" if hit else "misses"] += 1
        if count and not hit:
            self.counts[count] += 1


def simulate(stream) -> Caches:
    """Runs stream(caches, xcd, cu, first work-item of a wave, the wave's number in the grid) for the whole grid."""
    caches = Caches()
    for group in range(GROUPS):
        for first in range(0, GROUP, WAVE):
            stream(caches, group % XCDS, group // XCDS % CUS, first, group * GROUP + first)
    return caches


def check(counters: dict[str, float], caches: Caches) -> None:
    expected = caches.counts
    scalar_reads = counters["SQC_TC_DATA_READ_REQ"]
    scalar_misses = counters["TCC_EA0_RDREQ_sum"] - counters["TCC_BUBBLE_sum"]
    assert counters["TCP_TOTAL_CACHE_ACCESSES_sum"] == expected["look-ups"]
    assert counters["TCP_UTCL1_REQUEST_sum"] == expected["look-ups"]
    assert counters["TCP_UTCL1_TRANSLATION_MISS_sum"] == len(caches.pages)
    assert counters["TCP_TCC_READ_REQ_sum"] == expected["L2 reads"]
    assert counters["TCP_TCC_WRITE_REQ_sum"] == counters["TCC_WRITE_sum"] == expected["L2 writes"]
    assert counters["TCC_READ_sum"] == expected["L2 reads"] + scalar_reads
    assert counters["TCC_MISS_sum"] == expected["misses"] + scalar_misses
    assert counters["TCC_HIT_sum"] == expected["hits"] + scalar_reads - scalar_misses
    assert counters["TCC_BUBBLE_sum"] == expected["memory reads"]
    whole = sum(len(sectors) == 2 for sectors in caches.written.values())
    assert counters["TCC_EA0_WRREQ_64B_sum"] == whole
    assert counters["TCC_EA0_WRREQ_sum"] == len(caches.written)


@pytest.mark.parametrize("place, stride", list(enumerate((1, 2, 32, 64))))
def test_strided_loads(place, stride, dispatches):
    def stream(caches, xcd, cu, _first, item):
        caches.load(xcd, cu, [dispatches["in"] + 4 * (item + lane) * stride for lane in range(WAVE)])
        caches.store(xcd, cu, [dispatches["out"] + 4 * (item + lane) for lane in range(WAVE)])

    check(dispatches["strided"][place], simulate(stream))


def test_reuse(dispatches):
    def stream(caches, xcd, cu, first, item):
        for _ in range(4):
            for at in range(first, 4096, GROUP):
                caches.load(xcd, cu, [dispatches["in"] + 4 * (at + lane) for lane in range(WAVE)])
        caches.store(xcd, cu, [dispatches["out"] + 4 * (item + lane) for lane in range(WAVE)])

    check(dispatches["reuse"][0], simulate(stream))


def test_the_tlb_keeps_32_pages(dispatches, repository):
    """More pages, used in rotation, always miss, and each load takes that much longer. The last miss is that of the store."""
    table = tomllib.loads((repository / "src" / "rocm_perf_lab" / "arch" / "timing_gfx942.toml").read_text())
    cycles = {name: entry["value"] for name, entry in table.items()}
    runs = dict(zip((31, 32, 33), dispatches["pages"][1:], strict=True))  # the first one's data comes from the HBM
    misses = {pages: counters["TCP_UTCL1_TRANSLATION_MISS_sum"] - 1 for pages, counters in runs.items()}
    assert misses == {31: 31, 32: 32, 33: 3 * 33}
    fits, one_more, too_many = (4 * counters["SQ_WAVE_CYCLES"] for counters in runs.values())
    later_misses = 2 * 33 * cycles["l1_tlb_miss_cycles"]
    assert too_many - one_more == pytest.approx(one_more - fits + later_misses, rel=0.02)


@pytest.mark.parametrize("stride", (1, 2, 4, 8, 16, 32, 33))
def test_lds_bank_conflicts(stride, dispatches):
    """32 banks; 32 lanes at a time, and one word per bank and cycle."""
    cycles = 0
    for first in (0, 32):
        banks = Counter(lane * stride % 32 for lane in range(first, first + 32))
        cycles += max(banks.values())
    counters = dispatches[f"lds_stride<{stride}>"][0]
    assert counters["SQ_INSTS_LDS"] == 1
    assert counters["SQ_LDS_IDX_ACTIVE"] == cycles
    assert counters["SQ_LDS_BANK_CONFLICT"] == cycles - 2
    assert counters["SQ_LDS_ADDR_CONFLICT"] == 0


def test_divergence_shows_in_thread_cycles(dispatches, repository, tmp_path):
    code = compile_kernels(repository / "tests" / "programs" / "caches.hip", tmp_path / "caches.hsaco")
    listing = instructions(code, "half_activeILi32E")
    masked = listing[listing.index("s_and_saveexec_b64") :]
    inside = sum(name.startswith("v_") for name in masked[: masked.index("s_or_b64")])
    assert inside >= 10
    (all_lanes,), (half,) = dispatches["half_active<64>"], dispatches["half_active<32>"]
    assert all_lanes["SQ_INSTS_VALU"] == half["SQ_INSTS_VALU"]
    assert all_lanes["SQ_THREAD_CYCLES_VALU"] == 64 * all_lanes["SQ_ACTIVE_INST_VALU"]
    assert all_lanes["SQ_THREAD_CYCLES_VALU"] - half["SQ_THREAD_CYCLES_VALU"] == inside * 32
