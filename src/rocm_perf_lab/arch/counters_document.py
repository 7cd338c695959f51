"""What `rocm-perf counters --json` prints."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, RootModel

from rocm_perf_lab.arch.counters import Counter, uses
from rocm_perf_lab.json_model import JsonModel


class CounterSection(JsonModel):
    """A hardware counter."""

    name: str = Field(description="hardware name, as in rocprofv3")
    block: str = Field(description="hardware block")
    unit: str = Field(description="unit of its value")
    meaning: str = Field(description="what it counts")
    device: bool = Field(description="whether the software device offers it")
    device_model: str | None = Field(description="how the software device computes the value; null if it does not offer it")
    not_on_device_because: str | None = Field(description="why the software device does not offer it; null if it does")
    hardware: list[str] = Field(description="LLVM targets of the GPUs that have it")
    used_by: list[str] = Field(description="'family: metric' of each formula that uses it")


class CountersDocument(RootModel[list[CounterSection]]):
    """An array with one object per counter."""


def counters_document(counters: Sequence[Counter]) -> CountersDocument:
    return CountersDocument([_section(counter) for counter in counters])


def _section(counter: Counter) -> CounterSection:
    return CounterSection(
        name=counter.name,
        block=counter.block,
        unit=counter.unit,
        meaning=counter.meaning,
        device=counter.on_device,
        device_model=counter.model,
        not_on_device_because=counter.why,
        hardware=list(counter.hardware),
        used_by=list(uses().get(counter.name, ())),
    )
