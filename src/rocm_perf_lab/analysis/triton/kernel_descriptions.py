"""Kernels as Triton described them while the program ran; see rocm_perf_triton/compiled_kernels.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

FOLDER = "triton"  # next to the run's database


class DescribedKernel(BaseModel):
    """One specialisation of a function. symbol: its kernel's name, not always unique. constants, options: name -> value."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    symbol: str
    function: str
    file: str
    line: int
    version: str
    constants: Mapping[str, str]
    options: Mapping[str, int | None]
    ttgir: str
    amdgcn: str


@dataclass(frozen=True)
class DescribedKernels:
    """by_symbol: symbol -> its specialisations, without duplicates."""

    by_symbol: Mapping[str, list[DescribedKernel]]

    def of(self, symbol: str) -> list[DescribedKernel]:
        return self.by_symbol.get(symbol.removesuffix(".kd"), [])


def described_kernels(database: Path) -> DescribedKernels:
    """The kernels described during the run that wrote this database; none for programs that do not use Triton. Unreadable files
    are skipped.
    """
    by_symbol: dict[str, list[DescribedKernel]] = defaultdict(list)
    for path in sorted((database.parent / FOLDER).glob("*.json")):
        try:
            kernel = DescribedKernel.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue
        if kernel not in by_symbol[kernel.symbol]:
            by_symbol[kernel.symbol].append(kernel)
    return DescribedKernels({symbol: sorted(kernels, key=_order) for symbol, kernels in by_symbol.items()})


def _order(kernel: DescribedKernel) -> tuple[str, ...]:
    return (*map(str, kernel.constants.values()), *map(str, kernel.options.values()), kernel.ttgir)
