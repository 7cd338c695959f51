"""Random programs on the device against AMD's pseudo-code: straight lines, branches, loops, all modes.

Runs for ROCM_PERF_RANDOM_SECONDS (three minutes in the slow suite), starting from ROCM_PERF_RANDOM_SEED:

    ROCM_PERF_RANDOM_SECONDS=3600 ./dev test -m slow tests/native/device/isa/test_random_programs.py
"""

from __future__ import annotations

import copy
import os
import re
import time
from types import SimpleNamespace
from wave import EXEC, Batch, set_scalar64

import numpy as np
import pytest
from random_programs import LDS, Drawer, Programs, Step, Wave, random_mask, run_all, text_of
from shapes import VGPRS
from vector_oracle import randomise

ROUND = 24  # programs that are assembled and run together
STEPS = 24


@pytest.fixture(scope="module")
def programs(library, known, assembler) -> Programs:
    return Programs.of(library, known, assembler)


def differences(wave: Wave, after: np.void) -> list[str]:
    """Registers and memory in which device and interpreter differ."""
    found = [f"refused: {after['fault'].decode()}"] if after["faulted"] else []
    for register, (expected, got) in enumerate(zip(wave.vgpr, after["vgpr"].tolist(), strict=True)):
        wrong = [lane for lane in range(len(got)) if got[lane] != expected[lane]]
        if wrong:
            found.append(f"v{register} lane {wrong[0]}: {got[wrong[0]]:#x}, expected {expected[wrong[0]]:#x}")
    for register, (expected, got) in enumerate(zip(wave.sgpr, after["sgpr"].tolist(), strict=True)):
        if expected != got:
            found.append(f"s{register}: {got:#x}, expected {expected:#x}")
    if after["lds"].tobytes() != bytes(wave.lds):
        found.append("the LDS")
    if (wave.scc, wave.mode) != (after["scc"], after["mode"]):
        found.append(f"scc {after['scc']}, mode {after['mode']:#x}, expected {wave.scc}, {wave.mode:#x}")
    return found


def start(random: np.random.Generator, batch: Batch) -> None:
    randomise(random, batch.input, any_mode=True)
    batch.input["lds"] = random.integers(0, 256, batch.input["lds"].shape)
    set_scalar64(batch.input, EXEC, [random_mask(random) for _ in batch.input])


def run_device(assembler, probe, texts: list[str], states: np.ndarray | None, random: np.random.Generator):
    code = assembler.assemble(texts)
    batch = Batch(code, len(texts), vgprs=VGPRS, lds=LDS)
    if states is None:
        start(random, batch)
    else:
        batch.input[:] = states
    batch.input["entry"] = code.entry
    return batch.input, batch.run(probe)


def first_difference(assembler, probe, library, program: list[Step], before: np.void, random) -> str:
    """The first instruction after which the two differ, found by running prefixes of the executed straight-line code."""
    texts, waves = [], []

    def keep(text: str, wave: Wave) -> None:
        texts.append(text)
        waves.append(copy.deepcopy({"vgpr": wave.vgpr, "sgpr": wave.sgpr, "scc": wave.scc, "mode": wave.mode, "lds": wave.lds}))

    wave = Wave(before, library)
    wave.observe = keep
    run_all(program, wave)
    beginnings = ["\n".join(texts[: count + 1]) for count in range(len(texts))]
    _, results = run_device(assembler, probe, beginnings, np.repeat(np.array([before]), len(texts)), random)
    for i, (text, state, after) in enumerate(zip(texts, waves, results, strict=True)):
        if found := differences(SimpleNamespace(**state), after):
            mode = waves[i - 1]["mode"] if i else int(before["mode"])
            return f"{text}\nin mode {mode:#x}: " + "; ".join(found[:8]) + f"\nbefore: {registers_of(waves[i - 1], found)}"
    return f"only by its branches:\n{text_of(program)}"


def registers_of(state: dict, found: list[str]) -> str:
    """The vector registers of the first lane that differs."""
    lane = re.search(r"lane (\d+)", found[0])
    return ", ".join(f"v{i} {row[int(lane.group(1))]:#x}" for i, row in enumerate(state["vgpr"])) if lane else ""


def check_round(assembler, probe, programs: Programs, seed: int) -> None:
    random = np.random.default_rng(seed)
    drawn = [Drawer(programs, random, f"p{i}").program(STEPS) for i in range(ROUND)]
    inputs, results = run_device(assembler, probe, [text_of(program) for program in drawn], None, random)
    for i, (program, before, after) in enumerate(zip(drawn, inputs, results, strict=True)):
        wave = Wave(before, programs.library)
        run_all(program, wave)
        if differences(wave, after):
            where = first_difference(assembler, probe, programs.library, program, before, random)
            raise AssertionError(f"seed {seed}, program {i}: {where}")


def test_the_pool_has_every_kind_of_instruction(programs):
    assert len(programs.vectors) > 200 and len(programs.scalars) > 90 and len(programs.lds) > 80
    assert len(programs.dpp) > 60 and len(programs.sdwa) > 60 and len(programs.sdwa_compares) > 80


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(assembler, probe, programs, seed):
    check_round(assembler, probe, programs, seed)


@pytest.mark.slow
def test_random_programs_at_length(assembler, probe, programs):
    until = time.monotonic() + float(os.environ.get("ROCM_PERF_RANDOM_SECONDS", "180"))
    seed = int(os.environ.get("ROCM_PERF_RANDOM_SEED", "1000"))
    while time.monotonic() < until:
        check_round(assembler, probe, programs, seed)
        seed += 1
