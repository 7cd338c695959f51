"""The code of kernels as written to source.json, from hand-made instructions, lines and waits."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.annotated_code import AnnotatedCode, CodeLine
from rocm_perf_lab.analysis.thread_trace.findings import Access, Cost, Instruction, SourceLine, WaitChain
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.report.schema import Gpu, Tool
from rocm_perf_lab.report.source import _Files, _kernel, source_document

TOO_MANY = "the kernels with more time already have 10,000 instructions"
COST, OTHER = Cost(8, 100, 60, 20, 0.75), Cost(4, 30, 0, 10, 0.25)
LOAD, WAIT = (Instruction(text, "a.hip:7", 1, address, COST) for text, address in (("load", 0x10), ("wait", 0x18)))


def traced(waves: float | None, reason: str | None = None):
    return types.SimpleNamespace(waves=Value(waves, "", reason))


def test_each_number_of_a_traced_kernel():
    code = AnnotatedCode(
        instructions=(CodeLine(0x10, "load", "/p/a.hip:7 -> /p/b.h:9", COST), CodeLine(0x18, "wait", "", OTHER)),
        lines=[SourceLine("/p/a.hip:7", COST, 55), SourceLine("", OTHER, 66), SourceLine("/p/c.h:1", OTHER, 77)],
        chains=[WaitChain(WAIT, (Access(LOAD, 3, 2, 40),), 5)],
        left_out=6,
    )
    files = _Files()
    found = _kernel("sum()", "_Z3sumv", code, traced(2.0), "not traced", files)
    assert found.model_dump() == {
        "kernel": "sum()", "symbol": "_Z3sumv", "waves": 2, "left_out": 6,
        "instructions": [
            {"address": 0x10, "isa": "load", "places": [{"file": 0, "line": 7}, {"file": 1, "line": 9}]},
            {"address": 0x18, "isa": "wait", "places": []},
        ],
        "costs": [
            {"hits": 8, "latency_cycles": 100, "stall_cycles": 60, "idle_cycles": 20, "share": 0.75},
            {"hits": 4, "latency_cycles": 30, "stall_cycles": 0, "idle_cycles": 10, "share": 0.25},
        ],
        "lines": [
            {
                "place": {"file": 0, "line": 7}, "hits": 8, "latency_cycles": 100, "stall_cycles": 60, "idle_cycles": 20,
                "share": 0.75, "waited_cycles": 55,
            },
            {
                "place": {"file": 2, "line": 1}, "hits": 4, "latency_cycles": 30, "stall_cycles": 0, "idle_cycles": 10,
                "share": 0.25, "waited_cycles": 77,
            },
        ],
        "waits": [{
            "address": 0x18, "unexplained_cycles": 5,
            "accesses": [{"address": 0x10, "times": 3, "ended": 2, "waited_cycles": 40}],
        }],
    }  # fmt: skip
    assert files.numbers == {"/p/a.hip": 0, "/p/b.h": 1, "/p/c.h": 2}
    assert files.lines == {"/p/a.hip": {7}, "/p/b.h": {9}, "/p/c.h": {1}}


def test_a_kernel_that_was_not_traced_has_only_its_code():
    code = AnnotatedCode((CodeLine(0, "s_nop", "a.hip:1", None),), None, None)
    found = _kernel("sum()", "_Z3sumv", code, None, "another kernel was traced", _Files())
    assert (len(found.instructions), found.left_out) == (1, 0)
    assert found.reasons == dict.fromkeys(("waves", "costs", "lines", "waits"), "another kernel was traced")


@pytest.mark.parametrize(
    "found, waves, why",
    [
        (None, None, "not traced"),
        (traced(3.0), 3, None),
        (traced(0.0), 0, None),
        (traced(None, "its waves are lost"), None, "its waves are lost"),
        (traced(None), None, "not traced"),
    ],
)
def test_code_that_is_not_known(found, waves, why):
    kernel = _kernel("sum()", "_Z3sumv", "no code object", found, "not traced", _Files())
    assert (kernel.waves, kernel.left_out) == (waves, 0)
    reasons = dict.fromkeys(("instructions", "costs", "lines", "waits"), "no code object")
    assert kernel.reasons == reasons | ({"waves": why} if why else {})


@pytest.mark.parametrize(
    "text, place",
    [
        ("a.hip:7", ("a.hip", 7)), (" C:\\a.hip:12 ", ("C:\\a.hip", 12)), ("", None), ("a.hip", None), ("a.hip:", None),
        (":7", None), ("a.hip:x", None), ("a.hip:-1", None),
    ],
)  # fmt: skip
def test_a_place_is_a_file_and_a_line(text, place):
    files = _Files()
    found = files.location(text)
    assert (found is None) == (place is None)
    assert ({path: sorted(lines) for path, lines in files.lines.items()}) == ({place[0]: [place[1]]} if place else {})


def test_a_file_keeps_the_number_of_its_first_place():
    files = _Files()
    found = files.locations("a:1 -> b:2 -> nowhere -> a:3")
    assert [(one.file, one.line) for one in found] == [(0, 1), (1, 2), (0, 3)] and files.lines["a"] == {1, 3}


@pytest.mark.parametrize(
    "sizes, shown",
    [
        ([10_000, 1], [True, False]),
        ([10_001, 1], [False, True]),
        ([9_999, 2, 1, 1], [True, False, True, False]),
        ([None, 10_000], [False, True]),
    ],
)
def test_at_most_ten_thousand_instructions_are_listed(tmp_path, sizes, shown):
    """All instructions of kernels whose code is known, those with the most time first."""
    (tmp_path / "results.db").write_text("")
    line = CodeLine(0, "s_nop", "", None)
    code = ["no code" if size is None else AnnotatedCode((line,) * size, None, None) for size in sizes]
    kernels = [
        types.SimpleNamespace(symbol=types.SimpleNamespace(name=f"k{n}()", kernel=types.SimpleNamespace(symbol=f"k{n}")))
        for n in range(len(sizes))
    ]
    findings = types.SimpleNamespace(
        kernels=kernels,
        traced=types.SimpleNamespace(by_symbol={"k1": traced(4.0)}, reason="not traced"),
        trace=types.SimpleNamespace(path=tmp_path / "results.db"),
    )
    gpu = Gpu(architecture="cdna3", target="gfx942", product="MI300X", pci_id="0x74a1", software_device="software gfx942",
              compute_units=304, clock_mhz=2100.0, memory_bandwidth_gbps=5300.0)  # fmt: skip
    head = dict(tool=Tool(version="1"), gpu=gpu, timing="measured", timing_parameters=None)
    document = source_document(findings, code, head, {"timing_parameters": "measured"})
    assert [one.instructions is not None for one in document.kernels] == shown
    assert [one.kernel for one in document.kernels] == [f"k{n}()" for n in range(len(sizes))]
    assert [one.waves for one in document.kernels] == [4 if n == 1 else None for n in range(len(sizes))]
    for one, size in zip(document.kernels, sizes, strict=True):
        assert one.instructions is not None or one.reasons["instructions"] == ("no code" if size is None else TOO_MANY)
