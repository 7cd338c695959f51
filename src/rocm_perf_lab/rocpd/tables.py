"""What a trace holds, as columns. Times are ns of the host's boot-time clock; -1 stands for "no id" in an id column."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

NO_ID = -1


@dataclass(frozen=True)
class Columns:
    """Arrays of equal length, one per column."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))


@dataclass(frozen=True)
class Dispatches(Columns):
    """Kernel dispatches, in the order of their dispatch ids. Shapes (n,) int64, `workgroup` and `grid` (n, 3)."""

    id: np.ndarray
    event_id: np.ndarray
    kernel_id: np.ndarray
    agent_id: np.ndarray
    queue_id: np.ndarray
    stream_id: np.ndarray
    start: np.ndarray
    end: np.ndarray
    lds_bytes: np.ndarray  # static and dynamic, as requested: not rounded to the allocation granule
    scratch_bytes: np.ndarray  # per work-item
    workgroup: np.ndarray  # work-items
    grid: np.ndarray  # work-items

    @property
    def duration(self) -> np.ndarray:
        return self.end - self.start


@dataclass(frozen=True)
class Copies(Columns):
    """Memory copies by an SDMA engine; blit kernels are dispatches. Shapes (m,) int64; `name` is a list of text."""

    id: np.ndarray
    event_id: np.ndarray
    stream_id: np.ndarray
    start: np.ndarray
    end: np.ndarray
    bytes: np.ndarray
    name: list[str]


@dataclass(frozen=True)
class Edges(Columns):
    """Dependencies: node `target` could not start before node `source` had ended.

    Nodes are numbered 0..n-1 for the dispatches and n..n+m-1 for the copies, both in table order. `kind` indexes KINDS;
    `exact` says whether the collector saw the dependency or it was inferred from order in time.
    """

    KINDS = ("queue", "signal", "host", "stream")

    source: np.ndarray
    target: np.ndarray
    kind: np.ndarray
    exact: np.ndarray


@dataclass(frozen=True)
class Kernel:
    """A kernel symbol of a loaded code object, as the loader reports it."""

    id: int
    symbol: str  # mangled, without '.kd'
    name: str  # for people: demangled
    arch_vgprs: int  # aligned to 4
    accum_vgprs: int  # the rest of the allocation: padded to the VGPR granule
    sgprs: int  # aligned to the SGPR granule
    lds_bytes: int  # static
    scratch_bytes: int


@dataclass(frozen=True)
class Agent:
    """A device, with the properties that the profiler recorded; what it did not record is None."""

    id: int
    type: str
    target: str  # gfx942
    product: str
    pci_id: int | None
    properties: dict[str, Any] = field(repr=False)

    def figure(self, key: str) -> int | None:
        """A positive integer property such as 'cu_count', or None."""
        value = self.properties.get(key)
        return value if isinstance(value, int) and value > 0 else None


@dataclass(frozen=True)
class Process:
    pid: int
    command: str
    host: str
    extdata: dict[str, Any]

    @property
    def own(self) -> dict[str, Any]:
        """What this project's collector says of itself; empty for rocprofv3."""
        own = self.extdata.get("rocm_perf_lab")
        return own if isinstance(own, dict) else {}

    @property
    def has_exact_dependencies(self) -> bool:
        return self.own.get("dependencies") == "exact"


@dataclass(frozen=True)
class Trace:
    """One run of one process."""

    path: Path
    process: Process
    agents: dict[int, Agent]
    kernels: dict[int, Kernel]
    dispatches: Dispatches
    copies: Copies
    edges: Edges
    counters: dict[str, np.ndarray]  # name -> (n,) float64 aligned with dispatches; NaN where not collected

    @property
    def timing(self) -> str:
        """'measured' or 'modelled'. Only this project's collector can model time, and it says so."""
        return "modelled" if self.process.own.get("timing") == "modelled" else "measured"

    @property
    def timing_parameters(self) -> str | None:
        """Identifies the timing parameters behind modelled times."""
        value = self.process.own.get("timing_parameters")
        return str(value) if value else None

    @property
    def device(self) -> str | None:
        """The software device that ran the kernels ('software gfx942'); None on hardware."""
        value = self.process.own.get("device")
        return str(value) if value else None

    @property
    def collector(self) -> str:
        return str(self.process.own.get("collector", "rocprofv3"))

    @property
    def has_exact_dependencies(self) -> bool:
        """Whether the collector saw the dependencies; otherwise `edges` is inferred from order in time."""
        return self.process.has_exact_dependencies

    @property
    def has_times(self) -> bool:
        """False when every dispatch starts when it ends: the profiler could not read the GPU's clock."""
        return bool(np.any(self.dispatches.duration != 0))
