"""What a program gains when its kernels get shorter, on a chain of two kernels whose times are added by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import KERNEL, Dag, by_target
from rocm_perf_lab.analysis.program_gain import with_program_gains
from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.rocpd.edges import edge_table


@dataclass(frozen=True)
class Bottleneck:
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True)
class Kernel:
    name: str
    bottleneck: Bottleneck
    symbol: SimpleNamespace = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbol", SimpleNamespace(name=self.name))


def kernel(name: str, **gains: float) -> Kernel:
    return Kernel(name, Bottleneck(tuple(Remedy(cause, "change it", gain, None) for cause, gain in gains.items())))


@pytest.fixture
def chain() -> Dag:
    """`first` takes 10 ns, and then `second` takes 30 ns."""
    source, start_of, kind = by_target(edge_table(np.array([0]), np.array([1]), 0, True), 2)
    start, end = np.array([100, 110], np.int64), np.array([110, 140], np.int64)
    order = np.arange(2, dtype=np.int32)
    return Dag(start, end, order, ("first", "second"), (KERNEL,) * 2, 2, 2, source, start_of, kind, order, 1, end - start)


def test_gains_of_kernels_become_gains_of_the_program(chain):
    given = [kernel("first", latency=0.5), kernel("second", latency=0.2, atomics=0.9), kernel("elsewhere", latency=0.5)]
    kernels, causes = with_program_gains(given, chain, critical_path(chain))
    assert [[(remedy.program_gain, remedy.then_dominant) for remedy in found.bottleneck.remedies] for found in kernels] == [
        [(pytest.approx(5 / 40), "second")],
        [(pytest.approx(6 / 40), "second"), (pytest.approx(27 / 40), "first")],
        [(None, None)],
    ]
    assert [(one.cause, one.kernels, one.span_ns, one.gain, one.dominant) for one in causes] == [
        ("atomics", ("second",), 13, pytest.approx(27 / 40), "first"),
        ("latency", ("first", "second"), 29, pytest.approx(11 / 40), "second"),
    ]


def test_without_a_path_or_remedies_nothing_is_gained(chain):
    kernels = [kernel("first", latency=0.5)]
    assert with_program_gains(kernels, chain, None) == (kernels, [])
    assert with_program_gains([kernel("first")], chain, critical_path(chain)) == ([kernel("first")], [])
