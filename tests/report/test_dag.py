"""The parts of dag.json, each from hand-made findings: every number in its field, and a reason for every null."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rocm_perf_lab.analysis.critical_path import SymbolOnPath
from rocm_perf_lab.analysis.idle import Gap, Idle
from rocm_perf_lab.analysis.program_gain import ProgramGain
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.analysis.what_if import DominanceShift, Scenario
from rocm_perf_lab.report import dag as report
from rocm_perf_lab.report.schema import Gpu, Tool

GPU = Gpu(architecture="cdna3", target="gfx942", product="MI300X", pci_id="0x74a1", software_device="software gfx942",
          compute_units=304, clock_mhz=2100.0, memory_bandwidth_gbps=5300.0)  # fmt: skip
HEAD = dict(tool=Tool(version="1"), gpu=GPU, timing="modelled", timing_parameters="f00d")


def fields(section) -> dict[str, object]:
    return {name: value for name, value in section.model_dump().items() if name != "reasons"}


def symbol(name: str, fraction: float, kind: str = "kernel", on_path_ns: int = 5, ceiling: float | None = 1.5, share=0.25):
    return SymbolOnPath(name, kind, 9, 4, 2_500_000, share, on_path_ns, fraction, ceiling, 3, 4.5, 6)


def path(*symbols: SymbolOnPath, work=60, host=10, delay=20, lead=5):
    return types.SimpleNamespace(
        symbols=symbols, length_ns=work + host + delay + lead, work_ns=work, host_ns=host, delay_ns=delay, lead_ns=lead
    )


class Graph:
    """Seven nodes, and five edges of four kinds."""

    kind = np.array([0, 0, 3, 4, 7])
    exact_edges = 2

    def __len__(self):
        return 7


def document(of_path, exact=True, no_calls="", **changed):
    trace = types.SimpleNamespace(has_exact_dependencies=exact, no_calls=no_calls)
    given = dict(trace=trace, dag=Graph(), path=of_path, idle=[], what_if=[], program_gains=[], program_stack=None, shift=None)
    return report.dag_document(types.SimpleNamespace(**(given | {"kernels": []} | changed)), HEAD, {})


OF_PATH = ("critical_path_ns", "work_ns", "host_ns", "delay_ns", "lead_ns", "dominant_symbol", "fraction", "speedup_ceiling")


def test_the_path_and_what_dominates_it():
    found = document(path(symbol("memcpy", 0.5, "copy"), symbol("k", 0.25), symbol("scan", 0.125)))
    assert [getattr(found, name) for name in OF_PATH] == [95, 60, 10, 20, 5, "k", 0.25, 1.5]
    assert (found.dependencies, found.nodes, found.next_in_line) == ("exact", 7, ["scan"])
    assert [one.kernel for one in found.symbols] == ["memcpy", "k", "scan"]
    assert found.reasons == {
        "dominance_shift": "no kernel of the program is on the path",
        "program_stack": "no experiments were made with a kernel of the program",
    }
    assert fields(found.edges) == {
        "queue": 2, "signal": 0, "host": 0, "stream": 1, "launch": 1, "event": 0, "wait": 0, "program": 1, "exact": 2,
    }  # fmt: skip


def test_without_calls_nothing_is_known_about_the_host():
    found = document(path(symbol("k", 1.0, ceiling=None)), exact=False, no_calls="not traced")
    assert (found.dependencies, found.host_ns, found.reasons["host_ns"]) == ("inferred", None, "not traced")
    assert found.reasons["speedup_ceiling"] == "the symbol is the whole path" and found.work_ns == 60
    assert found.edges.reasons == dict.fromkeys(("launch", "event", "wait", "program"), "not traced")
    assert (found.edges.launch, found.edges.queue) == (None, 2) and found.notes == [report.INFERRED_NOTE]
    assert document(path(symbol("k", 1.0)), exact=False).notes == [report.INFERRED_WITH_CALLS_NOTE]


def test_without_times_there_are_kernels_and_nothing_else():
    kernels = [
        types.SimpleNamespace(symbol=types.SimpleNamespace(name=name, is_runtime=is_runtime, rows=[1, 2]))
        for name, is_runtime in (("k", False), ("fill", True))
    ]
    found = document(None, kernels=kernels)
    assert [getattr(found, name) for name in OF_PATH] == [None] * 8
    assert found.reasons == dict.fromkeys((*OF_PATH, "dominance_shift", "program_stack"), NO_TIME)
    assert [(one.kernel, one.kind, one.dispatches, one.dispatches_on_path) for one in found.symbols] == [
        ("k", "kernel", 2, 0), ("fill", "runtime kernel", 2, 0),
    ]  # fmt: skip
    assert set(found.symbols[0].reasons.values()) == {NO_TIME} and found.next_in_line == []


@pytest.mark.parametrize(
    "fraction, others, names",
    [
        (0.7, [("a", 5, "kernel")], []),
        (0.69, [("a", 5, "kernel")], ["a"]),
        (0.5, [("a", 5, "kernel"), ("c", 9, "copy"), ("b", 0, "kernel"), ("d", 1, "kernel")], ["a", "d"]),
        (0.1, [(name, 5, "kernel") for name in "abcd"], ["a", "b", "c"]),
        (0.1, [("fill", 5, "runtime kernel")], []),
    ],
)
def test_the_three_kernels_that_follow_if_none_dominates(fraction, others, names):
    dominant = symbol("k", fraction)
    on_path = path(dominant, *(symbol(name, 0.01, kind, ns) for name, ns, kind in others))
    assert report._next_in_line(on_path, dominant) == names


RUNTIME_SAID = "fill accounts for 30.0 % of the path; it is skipped, as the HIP runtime's own (fills, copies)"
COPIES_SAID = "copies are 30.0 % of the path, more than any kernel of the program"
NOTHING_RUNS = "nothing runs on most of the path"


@pytest.mark.parametrize(
    "symbols, times, said",
    [
        ([symbol("k", 0.25)], {}, []),
        (
            [symbol("k", 0.25), symbol("fill", 0.3, "runtime kernel"), symbol("other", 0.2, "runtime kernel")],
            {},
            [RUNTIME_SAID],
        ),
        ([symbol("k", 0.3), symbol("fill", 0.3, "runtime kernel")], {}, []),
        ([symbol("fill", 0.3, "runtime kernel")], {}, []),
        ([symbol("k", 0.25), symbol("a", 0.2, "copy"), symbol("b", 0.1, "copy")], {}, [COPIES_SAID]),
        ([symbol("k", 0.5), symbol("a", 0.25, "copy"), symbol("b", 0.25, "copy")], {}, []),
        ([symbol("k", 0.25)], dict(work=60, host=20, delay=30, lead=10), []),
        ([symbol("k", 0.25)], dict(work=60, host=20, delay=30, lead=11), [NOTHING_RUNS]),
        ([symbol("k", 0.25)], dict(work=60, host=61, delay=0, lead=0), [NOTHING_RUNS]),
        ([symbol("k", 0.25)], dict(work=60, host=0, delay=61, lead=0), [NOTHING_RUNS]),
    ],
)
def test_what_else_determines_the_span(symbols, times, said):
    on_path = path(*symbols, **times)
    notes = report._dag_notes(on_path, report.dominant_symbol(on_path), exact=True, has_calls=True)
    assert len(notes) == len(said) and all(note.startswith(start) for note, start in zip(notes, said, strict=True))
    assert report._dag_notes(None, None, exact=True, has_calls=False) == []


def test_one_symbol_on_the_path():
    found = report._symbol_on_path(symbol("k", 0.25))
    assert fields(found) == {
        "kernel": "k", "kind": "kernel", "dispatches": 9, "dispatches_on_path": 4, "total_ms": 2.5, "share": 0.25,
        "critical_path_ns": 5, "fraction": 0.25, "speedup_ceiling": 1.5, "min_slack_ns": 3, "mean_slack_ns": 4.5,
        "overlap_potential_ns": 6,
    }  # fmt: skip
    call = report._symbol_on_path(symbol("hipMemcpy", 1.0, "call", ceiling=None, share=None))
    assert call.kind == "host call" and call.reasons == {
        "speedup_ceiling": "the symbol is the whole path", "share": "a host call takes no GPU time",
    }  # fmt: skip


@pytest.mark.parametrize("span, fraction", [(1000, 0.25), (0, 0.0)])
def test_idle_times_of_a_gpu(span, fraction):
    gaps = (Gap(5, 100, "host", "k", "hipMemcpy"), Gap(300, 50, "unknown", "k", None))
    found = report._idle(Idle(3, span, 250, 7, {"host": 250}, gaps))
    assert (found.agent, found.span_ns, found.idle_ns, found.fraction, found.gaps) == (3, span, 250, fraction, 7)
    assert found.by_cause_ns == {"host": 250}
    first, second = found.longest
    assert fields(first) == {"start_ns": 5, "duration_ns": 100, "cause": "host", "before": "k", "waited_for": "hipMemcpy"}
    assert first.reasons == {} and second.reasons == {"waited_for": "the trace shows nothing on which it depended"}


def test_scenarios():
    asked = report._scenario(Scenario(("k",), "k.*", 2.0, 80, 1.25, "scan", 0.5))
    assert fields(asked) == {
        "kernels": ["k"], "pattern": "k.*", "factor": 2.0, "span_ns": 80, "speedup": 1.25, "dominant_symbol": "scan",
        "fraction": 0.5,
    }  # fmt: skip
    assert asked.reasons == {}
    assert report._scenario(Scenario(("k",), None, None, 0, None, None, 0.0)).reasons == {
        "pattern": "tried by default", "factor": "the kernels take no time", "speedup": "nothing is left of the span",
        "dominant_symbol": "no kernel of the program is on the path",
    }  # fmt: skip


@pytest.mark.parametrize("then", ["scan", None])
def test_what_the_program_gains(then):
    found = report._program_gain(ProgramGain("latency", ("k", "scan"), 80, 0.25, then, 0.5))
    assert fields(found) == {
        "cause": "latency", "kernels": ["k", "scan"], "span_ns": 80, "gain": 0.25, "dominant_symbol": then, "fraction": 0.5,
    }  # fmt: skip
    assert found.reasons == ({} if then else {"dominant_symbol": "no kernel of the program is on the path"})


STAYS = "it stays dominant up to 100 times faster"


@pytest.mark.parametrize(
    "factor, then, reasons",
    [
        (1.5, "scan", {}),
        (1.5, None, {"then": "no kernel of the program is on the path"}),
        (None, None, {"factor": STAYS, "then": STAYS}),
    ],
)
def test_when_another_kernel_dominates(factor, then, reasons):
    found = report._shift(DominanceShift("k", factor, then))
    assert (found.kernel, found.factor, found.then, found.reasons) == ("k", factor, then, reasons)
