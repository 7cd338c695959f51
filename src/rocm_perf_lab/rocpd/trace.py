"""The contents of a trace, as columns. Times are in ns, on the host's boot-time clock; -1 stands for "no id" in an id
column.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.rocpd.columns import NO_ID

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers, Mask
    from rocm_perf_lab.rocpd.estimates import Estimates

__all__ = ["NO_ID", "Agent", "Calls", "Copies", "Dispatches", "Edges", "Kernel", "Process", "Trace"]


@dataclass(frozen=True)
class Columns:
    """Arrays of equal length, one per column."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))


@dataclass(frozen=True)
class Dispatches(Columns):
    """Kernel dispatches, ordered by id. Shapes (n,), `workgroup` and `grid` (n, 3).

    Columns are int32 or int64, depending on the values. Sums and products must be computed in int64.
    """

    id: Integers
    event_id: Integers
    kernel_id: Integers
    agent_id: Integers
    queue_id: Integers
    stream_id: Integers
    start: Integers
    end: Integers
    lds_bytes: Integers  # static and dynamic, as requested, not rounded up to the allocation granule
    scratch_bytes: Integers  # per work-item
    workgroup: Integers  # work-items
    grid: Integers  # work-items

    @property
    def duration(self) -> Integers:
        return self.end.astype(np.int64) - self.start


@dataclass(frozen=True)
class Copies(Columns):
    """Memory copies by an SDMA engine; copies by blit kernels are dispatches. Shapes (m,); `name` is a list of strings.

    agent_id: the GPU involved; if both ends are GPUs, the destination.
    """

    id: Integers
    event_id: Integers
    agent_id: Integers
    stream_id: Integers
    start: Integers
    end: Integers
    bytes: Integers
    name_index: Integers  # index into names
    names: tuple[str, ...]

    @property
    def name(self) -> list[str]:
        return [self.names[index] for index in self.name_index]


@dataclass(frozen=True)
class Calls(Columns):
    """The HIP calls of host threads that affect the GPU's work. Shapes (c,), ordered by thread and time.

    A call that waits for the GPU has two rows: one for its entry (which takes no time), and one that runs from the end of the
    awaited work until the call returns. Times are clipped to the GPU's span. `name_index` indexes `names`. took: the duration
    of the whole call in ns, from entry to return, not clipped; -1 in a call's second row.
    """

    thread: Integers
    start: Integers
    end: Integers
    name_index: Integers
    took: Integers
    names: tuple[str, ...]


@dataclass(frozen=True)
class Edges(Columns):
    """Dependencies: node `target` could not start before node `source` had ended or, for a launch, had started.

    Nodes are numbered from 0: first the dispatches, then the copies, then the calls, each in table order. `kind` indexes KINDS:
    queue (order in a queue only), signal, host (the thread that submitted the target had seen the source end), stream (order in
    a HIP stream), launch (the source is the call that launched the target), event (recorded in one stream, waited for by
    another), wait (the target is a call that waited for the source), program (order in a host thread). `exact` states whether
    the dependency was recorded in the trace rather than inferred from the times.
    """

    KINDS = ("queue", "signal", "host", "stream", "launch", "event", "wait", "program")
    LAUNCH = KINDS.index("launch")

    source: Integers
    target: Integers
    kind: Integers
    exact: Mask


@dataclass(frozen=True)
class Kernel:
    """A kernel symbol of a loaded code object, as the loader reports it."""

    id: int
    symbol: str  # mangled, without '.kd'
    name: str  # demangled, for display
    arch_vgprs: int  # aligned to 4
    accum_vgprs: int  # the rest of the allocation, padded to the VGPR granule
    sgprs: int  # aligned to the SGPR granule
    lds_bytes: int  # static
    scratch_bytes: int
    is_runtime: bool = False  # whether it belongs to the HIP runtime, not the program; see runtime_kernels
    uri: str | None = None  # where its code object was loaded from


@dataclass(frozen=True)
class Agent:
    """A device, with the properties that the profiler recorded; fields that it did not record are None."""

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


UNNAMED = "an unnamed program"  # some profilers' files do not contain the program's name


@dataclass(frozen=True)
class Process:
    """command: '' if not recorded. software_device: the software device that ran the kernels, if the trace names one; otherwise
    None.
    """

    pid: int
    command: str
    host: str
    extdata: dict[str, Any]
    software_device: str | None = None

    @property
    def program(self) -> str:
        """The command, or a placeholder if it was not recorded."""
        return self.command or UNNAMED

    @property
    def own_metadata(self) -> dict[str, Any]:
        """What this project's collector or converter recorded about itself; empty for rocprofv3."""
        own = self.extdata.get("rocm_perf_lab")
        return own if isinstance(own, dict) else {}

    @property
    def imported_from(self) -> str | None:
        """The other profiler's file from which this trace was converted; None if it was not converted."""
        value = self.own_metadata.get("imported_from")
        return str(value) if value else None

    @property
    def has_exact_dependencies(self) -> bool:
        return self.own_metadata.get("dependencies") == "exact"

    @property
    def is_modelled(self) -> bool:
        """Whether GPU times come from a model, whichever profiler recorded them."""
        return self.own_metadata.get("timing") == "modelled" or self.software_device is not None


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of one process."""

    path: Path
    process: Process
    agents: dict[int, Agent]
    kernels: dict[int, Kernel]
    dispatches: Dispatches
    copies: Copies
    edges: Edges
    counters: dict[str, Floats]  # name -> (n,) float64, aligned with dispatches; NaN where not collected
    calls: Calls | None = None  # None: see no_calls
    no_calls: str = ""
    estimates: Estimates | None = None  # None: no times or counters are estimates

    @property
    def timing(self) -> str:
        """'measured' or 'modelled'."""
        return "modelled" if self.process.is_modelled else "measured"

    @property
    def timing_parameters(self) -> str | None:
        """Identifies the timing parameters on which modelled times are based; None if not recorded."""
        value = self.process.own_metadata.get("timing_parameters")
        return str(value) if value else None

    @property
    def software_device(self) -> str | None:
        """The software device that ran the kernels ('software gfx942'); None on hardware."""
        value = self.process.own_metadata.get("device") or self.process.software_device
        return str(value) if value else None

    @property
    def collector(self) -> str:
        return str(self.process.own_metadata.get("collector", "rocprofv3"))

    @property
    def has_exact_dependencies(self) -> bool:
        """Whether the collector observed the dependencies; if not, all edges but those from HIP calls are inferred
        from the times.
        """
        return self.process.has_exact_dependencies

    @property
    def has_times(self) -> bool:
        """False if every dispatch ends when it starts, because the profiler could not read the GPU's clock."""
        return bool(np.any(self.dispatches.end != self.dispatches.start))
