"""The probe, the assembler, and random operands for the tests of the instruction semantics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import needs

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[3]
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from wave import Batch, scalar64  # noqa: E402

from assemble import Assembler, find_clang  # noqa: E402
from pseudocode import Library  # noqa: E402


@pytest.fixture(scope="session")
def probe() -> Path:
    folder = Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or REPOSITORY / "build")
    return needs.built(folder / "bin" / "rpd_isa_probe")


@pytest.fixture(scope="session")
def assembler() -> Assembler:
    return Assembler(find_clang() or needs.lacking("no clang that assembles for gfx942"))


@pytest.fixture(scope="session")
def older_assembler(assembler: Assembler) -> Assembler:
    """For gfx90a."""
    return Assembler(assembler.clang, "gfx90a")


@pytest.fixture(scope="session")
def newer_assembler(assembler: Assembler) -> Assembler:
    """For gfx950."""
    return Assembler(assembler.clang, "gfx950")


@pytest.fixture(scope="session")
def rdna_assembler(assembler: Assembler) -> Assembler:
    """For gfx1030."""
    return Assembler(assembler.clang, "gfx1030")


@pytest.fixture
def random(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that are the same in every run of a test."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture(scope="session")
def library() -> Library:
    """AMD's pseudo-code ($RPL_SHARED/isa, else ../shared/isa); skips where it is absent."""
    path = needs.shared("isa", "cdna_pseudocode.json")
    definitions: dict[str, str] = {}
    for family in json.loads(path.read_text()).values():
        for name, text in family.items():
            mnemonic = name.lower().removesuffix("_e32").removesuffix("_e64")
            definitions.setdefault(mnemonic, text.replace("WAVE_MODE.IEEE", "MODE_IEEE"))
    return Library(definitions)


@dataclass(frozen=True)
class Apertures:
    """The start addresses of the LDS and private memory in the flat address space."""

    shared: int
    private: int


@pytest.fixture(scope="session")
def apertures(assembler: Assembler, probe: Path) -> Apertures:
    code = assembler.assemble(["s_mov_b64 s[0:1], src_shared_base\ns_mov_b64 s[2:3], src_private_base"])
    after = Batch(code, 1).run(probe)[0]
    return Apertures(int(scalar64(after, 0)), int(scalar64(after, 2)))


@dataclass(frozen=True)
class Entry:
    """One line of the device's table."""

    mnemonic: str
    unit: int
    destinations: int
    bytes: int  # per lane, of a memory access
    accumulates: bool
    packed: bool
    destination_type: str
    source_types: tuple[str, ...]


@pytest.fixture(scope="session")
def known(probe: Path) -> dict[str, Entry]:
    """Every mnemonic that the device knows."""
    lines = subprocess.run([probe, "list"], check=True, capture_output=True, text=True).stdout.splitlines()
    entries = {}
    for name, unit, destinations, size, accumulates, packed, destination, *sources in map(str.split, lines):
        types = tuple(source for source in sources if source != "none")
        entries[name] = Entry(
            name, int(unit), int(destinations), int(size), accumulates == "1", packed == "1", destination, types
        )
    return entries
