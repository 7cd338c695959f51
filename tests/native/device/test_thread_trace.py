"""Thread traces of the software device, checked by the rules of recorded ones and against LLVM's listing of the code."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from disassembly import compile_kernels, llvm_tool
from hip_compiler import compile_hip
from rocm_perf_lab.analysis.thread_trace import read
from rocm_perf_lab.analysis.thread_trace.waits import WaitChains
from thread_trace_files import assert_sums_close, code_rows, wave_files

TAKEN, WAIT_STATE_FILES = 7, range(1, 5)
PROGRAMS = {
    # kernel: (program, its arguments)
    "softmax_naive": ("softmax", ("--kernel", "naive", "--rows", "512", "--cols", "256")),
    "softmax_lds": ("softmax", ("--kernel", "lds", "--rows", "256", "--cols", "256")),
    "gemm_mfma": ("gemm", ("-n", "128", "--kernel", "mfma")),
}


@dataclass(frozen=True)
class Run:
    """A run of `rocm-perf profile`: its report, the run directory and the folder of the thread trace."""

    printed: str
    directory: Path
    folder: Path

    def section(self) -> dict:
        kernels = json.loads((self.directory / "analysis.json").read_text())["kernels"]
        (section,) = (kernel["thread_trace"] for kernel in kernels if kernel["thread_trace"])
        return section


@pytest.fixture(scope="module")
def traced(native_dir, repository, tmp_path_factory, rocm_perf_in):
    """traced("softmax_naive") is the Run of that kernel, compiled with -g."""
    folder = tmp_path_factory.mktemp("traced")
    runs: dict[str, Run] = {}

    def run(kernel: str) -> Run:
        if kernel not in runs:
            name, arguments = PROGRAMS[kernel]
            program = folder / name
            if not program.exists():
                source = repository / "testbed" / f"{name}.hip"
                compile_hip("-g", "-O3", "-std=c++20", "--offload-arch=gfx942", "-o", program, source)
            directory = folder / kernel
            command = ("profile", "-v", "--runs", 1, "--deep-analysis", "-o", directory, program, *arguments)
            printed = rocm_perf_in(folder, *command).stdout
            (ui,) = (directory / ".rocpd_profile" / "att").glob("ui_output_agent_*")
            runs[kernel] = Run(printed, directory, ui)
        return runs[kernel]

    return run


every_kernel = pytest.mark.parametrize("kernel", PROGRAMS)


@every_kernel
def test_sums_are_consistent(kernel, traced):
    run = traced(kernel)
    hits, latency, stall, idle = assert_sums_close(run.folder)
    assert hits > 100 and stall > 0
    section = run.section()
    assert section["instructions"] == hits and section["truncated_waves"] == 0
    spent = latency + idle
    shares = [section[f"{name}_fraction"] for name in ("issue", "stall", "idle")]
    assert shares == pytest.approx([(latency - stall) / spent, stall / spent, idle / spent])


@every_kernel
def test_waves_are_complete(kernel, traced):
    """Each record of a wave continues where the previous one ends, and the files about waves agree with each other."""
    folder = traced(kernel).folder
    waves = wave_files(folder)
    listed = json.loads((folder / "filenames.json").read_text())["wave_filenames"]["0"]
    named = {name: (begin, end) for slots in listed.values() for ids in slots.values() for name, begin, end in ids.values()}
    assert named == {name: (wave["wave"]["begin"], wave["wave"]["end"]) for name, wave in waves.items()}
    lives = Counter()
    for name, document in waves.items():
        wave = document["wave"]
        assert document["duration"] == wave["end"] - wave["begin"]
        assert document["num_insts"] == document["num_stitched"] == len(wave["instructions"])
        assert name.startswith(f"se0_sm{wave['simd']}_sl{wave['slot']}_wv")
        before = wave["begin"]
        for time, _category, stall, latency, _line in wave["instructions"]:
            assert before <= time and 0 <= stall <= latency
            before = time + latency
        assert before == wave["end"]
        assert sum(cycles for _, cycles in wave["timeline"]) == wave["end"] - wave["begin"]
        for (time, category, *_), after in itertools.pairwise(wave["instructions"]):
            assert category != TAKEN or after[0] - time >= 20  # as in recordings: the instruction buffer is empty
        lives += Counter({(wave["begin"], 1, wave["simd"], wave["slot"]): 1, (wave["end"], 0, wave["simd"], wave["slot"]): 1})
    events = json.loads((folder / "occupancy.json").read_text())["0"]
    assert lives == Counter((event[0], event[4], event[2], event[3]) for event in events)


@every_kernel
def test_states_add_up_to_the_waves(kernel, traced):
    """At any time, the numbers of waves in each state add up to the number of waves."""
    folder = traced(kernel).folder
    in_states: Counter[int] = Counter()
    for number in WAIT_STATE_FILES:
        states = json.loads((folder / f"wstates{number}.json").read_text())
        for time, before, now in zip(states["time"], [0, *states["state"]], states["state"], strict=False):
            in_states[time] += now - before
    alive: Counter[int] = Counter()
    for document in wave_files(folder).values():
        alive[document["wave"]["begin"]] += 1
        alive[document["wave"]["end"]] -= 1
    assert {t: n for t, n in in_states.items() if n} == {t: n for t, n in alive.items() if n}


@every_kernel
def test_waits_are_read_as_written(kernel, traced):
    """The device's record of what a wait was for agrees with the reader's finding, which other tests compare with AMD's."""
    trace = read(traced(kernel).folder)
    chains = WaitChains(trace.code, trace.waves, trace.gfxip)
    some = 0
    for wave, rows, waits in zip(trace.waves, chains.rows, chains.of_wave, strict=True):
        lines = trace.code.line[rows]
        ours = [(int(lines[wait.record]), int(lines[access])) for wait in waits for access in wait.accesses]
        written = json.loads((trace.folder / wave.file).read_text())["wave"]["waitcnt"]
        assert Counter(ours) == Counter((line, access) for line, accesses in written for access, _ in accesses)
        some += len(ours)
    assert some > 0


# ---- against LLVM ----


@dataclass(frozen=True)
class Listed:
    """An instruction in llvm-objdump's listing. line: of the innermost source, "file:line"."""

    text: str
    line: str


@pytest.fixture(scope="module")
def listing(repository, tmp_path_factory) -> dict[int, Listed]:
    """Address -> instruction in softmax.hip's device code, compiled separately but in the same way as the program's."""
    code = compile_kernels(
        repository / "testbed" / "softmax.hip", tmp_path_factory.mktemp("listing") / "code", "-g", "-std=c++20"
    )
    command = [llvm_tool("llvm-objdump"), "-d", "-l", "--no-show-raw-insn", code]
    listing, line = {}, ""
    for row in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        if found := re.match(r"; (/.+:\d+)$", row):
            line = found[1]
        elif found := re.match(r"\t(\S.*?)\s*// ([0-9A-F]+):", row):
            listing[int(found[2], 16)] = Listed(found[1], line)
    return listing


@pytest.mark.parametrize("kernel", ["softmax_naive", "softmax_lds"])
def test_the_listing_equals_that_of_llvm(kernel, traced, listing):
    rows = code_rows(traced(kernel).folder)
    assert len(rows) > 100
    for text, _, _, source, _, vaddr, *_ in rows:
        assert text == listing[vaddr].text
        assert source.split(" -> ")[0] == listing[vaddr].line


def vector_registers(operands: str) -> set[int]:
    """ "v3, v[4:6], s2" -> {3, 4, 5, 6}."""
    single = {int(number) for number in re.findall(r"\bv(\d+)\b", operands)}
    ranges = re.findall(r"\bv\[(\d+):(\d+)\]", operands)
    return single.union(*(range(int(first), int(last) + 1) for first, last in ranges))


def stalls_by_protected_load(waves: dict[str, dict], vaddr_of: dict[int, int], listing: dict[int, Listed]) -> Counter[str]:
    """Source line -> cycles of the waits that protect the registers filled by a load of that line.

    Uses only data flow, no counters: a wait is for the loads whose registers are used between it and the next wait, and is
    attributed to the youngest of them.
    """
    found: Counter[str] = Counter()
    for document in waves.values():
        loading: dict[int, tuple[int, str]] = {}  # register -> when its load was issued, and by which line
        stall, used = 0, []
        for step, (_, _, cycles, _, line) in enumerate(document["wave"]["instructions"]):
            instruction = listing[vaddr_of[line]]
            mnemonic, _, operands = instruction.text.partition(" ")
            if mnemonic == "s_waitcnt":
                if used:
                    found[max(used)[1]] += stall
                stall, used = (cycles if "vmcnt" in operands else 0), []
                continue
            if mnemonic.startswith("global_load"):
                target, _, operands = operands.partition(",")
            used += [loading.pop(register) for register in vector_registers(operands) if register in loading]
            if mnemonic.startswith("global_load"):
                loading |= dict.fromkeys(vector_registers(target), (step, instruction.line))
        if used:
            found[max(used)[1]] += stall
    return found


def test_waves_wait_for_the_line_of_the_load_whose_register_the_wait_protects(traced, listing, repository):
    run = traced("softmax_naive")
    vaddr_of = {row[2]: row[5] for row in code_rows(run.folder)}
    expected = stalls_by_protected_load(wave_files(run.folder), vaddr_of, listing)
    print("\n".join(f"{line} {cycles}" for line, cycles in expected.most_common()))
    (line, cycles), (_, second) = expected.most_common(2)
    assert cycles > 1.1 * second, "no line stands out: this would test nothing"
    section = run.section()
    assert section["waited_for"]["source"] == line
    assert section["waited_for"]["waited_cycles"] == cycles
    file, _, number = line.rpartition(":")
    assert Path(file) == repository / "testbed" / "softmax.hip"
    assert "x[i]" in Path(file).read_text().splitlines()[int(number) - 1]
    first = section["wait_chains"][0]
    assert first["accesses"][0]["isa"].startswith("global_load") and first["accesses"][0]["source"] == line
    assert f"Waves wait longest for the accesses of {line} ({cycles:,} cycles)" in " ".join(run.printed.split())


def test_matrix_units_are_busy_for_their_operations(traced):
    """16x16x16 in half precision: 8192 operations, at 512 per cycle and SIMD; a SIMD's cycles are those with a wave on it."""
    run = traced("gemm_mfma")
    text = {row[2]: row[0] for row in code_rows(run.folder)}
    waves = [document["wave"] for document in wave_files(run.folder).values()]
    matrix = sum(text[line].startswith("v_mfma_f32_16x16x16_f16") for wave in waves for *_, line in wave["instructions"])
    assert matrix == sum(text[line].startswith("v_mfma") for wave in waves for *_, line in wave["instructions"]) > 0
    cycles = 0
    for simd in {wave["simd"] for wave in waves}:
        busy = {cycle for wave in waves if wave["simd"] == simd for cycle in range(wave["begin"], wave["end"])}
        cycles += len(busy)
    assert run.section()["mfma_fraction"] == pytest.approx(16 * matrix / cycles)


# ---- what is traced ----


def test_the_cu_and_the_simds_are_those_that_were_requested(testbed, rocm_perf_in, tmp_path):
    command = (testbed("softmax_testbed"), "--kernel", "naive", "--rows", "5000", "--cols", "16")
    options = ("--att-simd-select", "0x5", "--att-target-cu", "2")
    rocm_perf_in(tmp_path, "profile", "--runs", 1, *options, "-o", "some", *command)
    (folder,) = (tmp_path / "some" / ".rocpd_profile" / "att").glob("ui_output_agent_*")
    waves = [document["wave"] for document in wave_files(folder).values()]
    assert {wave["simd"] for wave in waves} == {0, 2} and {wave["cu"] for wave in waves} == {2}
    assert_sums_close(folder)
    # 20 workgroups are up to three per XCD, whose CUs they fill starting with the first.
    rocm_perf_in(tmp_path, "profile", "--runs", 1, "--att-target-cu", "15", "-o", "none", *command)
    (trace,) = (one for one in json.loads((tmp_path / "none" / "profile.json").read_text())["passes"] if one["output"] is None)
    assert "no wave of the kernel ran on compute unit 15" in trace["reasons"]["output"]
    kernels = json.loads((tmp_path / "none" / "analysis.json").read_text())["kernels"]
    assert all(kernel["thread_trace"] is None and kernel["reasons"]["thread_trace"] for kernel in kernels)
