"""Parts of the documents that say what was selected, how much it varied, and how far it may be off."""

from __future__ import annotations

import os
import sqlite3
import types

import numpy as np
import pytest

import rocpd_database
from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.estimate_errors import Sampling
from rocm_perf_lab.analysis.model_error import model_error, model_error_by_limit
from rocm_perf_lab.analysis.roofline import NO_CEILINGS, NO_TIME
from rocm_perf_lab.analysis.stability import Stability
from rocm_perf_lab.analysis.thread_trace.time_stack import TimePart, TimeStack
from rocm_perf_lab.analysis.thread_trace.traced_kernels import NOT_MADE
from rocm_perf_lab.arch.metric import NO_COUNTERS
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report import assemble
from rocm_perf_lab.report.passes_section import ProfilePasses
from rocm_perf_lab.report.schema import Gpu, RooflineSection, Tool


def symbol(name: str) -> types.SimpleNamespace:
    return types.SimpleNamespace(name=f"{name}()", kernel=types.SimpleNamespace(symbol=f"_Z{name}"), rows=np.array([0, 1]))


DISPATCHES = types.SimpleNamespace(
    id=np.array([11, 12]), duration=np.array([100, 250]), workgroup=np.array([[64, 1, 1], [8, 4, 2]]),
    grid=np.array([[640, 1, 1], [16, 8, 4]]), start=np.array([0, 1000]), end=np.array([100, 1250]),
)  # fmt: skip


def findings(path=None, only_runtime=False, passed_over=None, **of_trace):
    trace = types.SimpleNamespace(dispatches=DISPATCHES, **({"timing": "modelled", "timing_parameters": "f00d"} | of_trace))
    selection = types.SimpleNamespace(symbol=symbol("k"), row=1, only_runtime_kernels=only_runtime, passed_over=passed_over)
    return types.SimpleNamespace(trace=trace, path=path, selection=selection)


@pytest.mark.parametrize(
    "path, only_runtime, passed_over, why",
    [
        ("path", False, None, "the longest dispatch of the program's own kernels"),
        (
            "path", False, symbol("fill"),
            "the longest dispatch of the program's own kernels; fill(), which has a longer one, is the HIP runtime's and was "
            "passed over",
        ),
        ("path", True, None, "the longest dispatch of all: only kernels of the HIP runtime ran"),
        (None, False, symbol("fill"), "the first dispatch of the program's own kernels"),
    ],
)  # fmt: skip
def test_which_dispatch_was_selected(path, only_runtime, passed_over, why):
    found = assemble._identity(findings(path, only_runtime, passed_over))
    assert (found.name, found.symbol, found.dispatch_id, found.selection) == ("k()", "_Zk", 12, why)
    assert (found.workgroup, found.grid) == ((8, 4, 2), (16, 8, 4))
    assert (found.duration_ns, found.reasons) == ((250, {}) if path else (None, {"duration_ns": NO_TIME}))


@pytest.mark.parametrize(
    "timing, parameters, reasons",
    [
        ("modelled", "f00d", {}),
        ("measured", None, {"timing_parameters": "times are measured"}),
        ("modelled", None, {"timing_parameters": "the trace does not name them"}),
    ],
)
def test_why_there_are_no_timing_parameters(timing, parameters, reasons):
    assert assemble._common_reasons(findings(timing=timing, timing_parameters=parameters)) == reasons


def test_how_much_runs_vary():
    found = assemble._stability(Stability((1.0, 2.0, 3.0), 2.0, 2.0, 1.0, 0.5, "unstable"))
    assert found.model_dump() == {"runs": 3, "mean_ms": 2.0, "stddev_ms": 1.0, "cv": 0.5, "classification": "unstable"}
    once = assemble._stability(Stability((1.0,), 1.0, 1.0, None, None, None))
    assert (once.runs, once.mean_ms) == (1, 1.0)
    assert once.reasons == dict.fromkeys(("stddev_ms", "cv", "classification"), "one run: a spread needs at least two")
    none = assemble._stability(None)
    assert none.runs == 0 and none.reasons == dict.fromkeys(("mean_ms", "stddev_ms", "cv", "classification"), NO_TIME)


def test_errors_of_a_sample_are_sorted_by_name():
    assert assemble._sampling(None) is None
    found = assemble._sampling(Sampling(3, 0.25, {"b": 2.0, "a": 1.0}))
    assert (found.dispatches, found.time_error, [*found.counter_errors.items()]) == (3, 0.25, [("a", 1.0), ("b", 2.0)])


@pytest.mark.parametrize("timing, reasons", [("measured", {}), (None, {"timing": "the file does not say"})])
def test_where_ceilings_come_from(timing, reasons):
    found = assemble._ceilings(Ceilings("/home/me/roofline.csv", None, timing, {}, {}))
    assert (found.source, found.timing, found.reasons) == ("roofline.csv", timing, reasons)


def test_when_and_by_what_the_trace_was_written(tmp_path):
    (tmp_path / "t.db").write_text("")
    os.utime(tmp_path / "t.db", (86_399.75,) * 2)
    process = types.SimpleNamespace(program="./app 3", host="node", pid=7)
    found = assemble._run_section(types.SimpleNamespace(path=tmp_path / "t.db", process=process, collector="rocprofv3"))
    assert found.model_dump() == {
        "command": "./app 3", "host": "node", "pid": 7, "created": "1970-01-01T23:59:59+00:00", "collector": "rocprofv3",
    }  # fmt: skip


def with_error(is_modelled=True, path="path", traced=None, bottleneck="latency-bound"):
    of = findings(path, timing_parameters=table_hash(), process=types.SimpleNamespace(is_modelled=is_modelled))
    of.traced = types.SimpleNamespace(by_symbol={} if traced is None else {"_Zk": types.SimpleNamespace(stack=traced)})
    kernel = types.SimpleNamespace(symbol=symbol("k"), bottleneck=types.SimpleNamespace(name=bottleneck))
    kernel.symbol.total_ns = 2_000_000
    return assemble._model_error(kernel, of)


def test_the_error_of_the_model_is_that_of_kernels_with_the_same_limit():
    """A dispatch takes a millisecond on average, so that its fixed cost does not matter."""
    assert with_error(is_modelled=False) == "times are measured" and with_error(path=None) == NO_TIME
    latency, bandwidth = (model_error(1e6, name, table_hash()) for name in ("latency-bound", "memory-bandwidth-bound"))
    assert with_error() == latency != bandwidth == with_error(bottleneck="memory-bandwidth-bound")
    launch = model_error_by_limit("launch", table_hash())
    assert with_error(traced=TimeStack(100, (TimePart("launch", 60.0, 60, 60),), 40, {}, ())) == launch != latency


HEAD = dict(
    tool=Tool(version="1"), timing="modelled", timing_parameters="f00d",
    gpu=Gpu(architecture="cdna3", target="gfx942", product="MI300X", pci_id="0x74a1", software_device="software gfx942",
            compute_units=304, clock_mhz=2100.0, memory_bandwidth_gbps=5300.0),
)  # fmt: skip

SECTION = RooflineSection(
    kernel="", time_ms=1.0, flop=1.0, gflops=1.0, attainable_gflops=1.0, fraction_of_ceiling=1.0,
    measured_attainable_gflops=1.0, fraction_of_measured_ceiling=1.0, operational_intensity=1.0, ridge=1.0,
    position="memory-bound", arithmetic=[], levels=[], notes=[],
)  # fmt: skip


@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_rooflines_of_kernels_that_have_one(monkeypatch, is_wanted):
    monkeypatch.setattr(
        assemble.shared_sections, "roofline", lambda name, roof: SECTION.model_copy(update={"kernel": f"{name} {roof}"})
    )
    of = findings()
    of.kernels = [types.SimpleNamespace(symbol=symbol(name), roofline=roof) for name, roof in (("a", "A"), ("b", None))]
    of.ceilings, of.total = Ceilings("c.json", None, "modelled", {}, {}), "T"
    found = assemble._roofline(of, ProfilePasses(roofline=is_wanted), HEAD)
    assert [one.kernel for one in found.kernels] == (["a() A"] if is_wanted else [])
    assert found.total.kernel == "all kernels of the program T" and found.ceilings.source == "c.json" and found.reasons == {}
    of.ceilings = of.total = None
    assert assemble._roofline(of, ProfilePasses(), HEAD).reasons == {
        "ceilings": NO_CEILINGS,
        "total": "only the runtime's kernels ran, or they ran on several devices or one whose ceilings are not known",
    }


COUNTERS = {name: [8.0] for name in ("SQ_WAVES", "TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum")}


def analysed(path, counters, *statements: str):
    """The documents of a run with a kernel of 1500 and 500 ns, and one of the runtime's own kernels."""
    work = [
        rocpd_database.Dispatch("k", 0, 1500, counters=counters, grid=512),
        rocpd_database.Dispatch("__amd_rocclr_copyBuffer", 2000, 2250),
        rocpd_database.Dispatch("k", 2500, 3000, counters=counters, grid=512),
    ]
    rocpd_database.write(path, work)
    with sqlite3.connect(path) as database:
        for one in statements:
            database.execute(one)
    return analyse(path)


def test_what_is_reported_about_a_kernel_with_times(tmp_path):
    documents = analysed(tmp_path / "t.db", COUNTERS)
    profile, (kernel, _) = documents.profile, documents.analysis.kernels
    assert (profile.kernel.name, profile.runtime_ms, profile.stability.runs) == ("k", 0.002, 1)
    assert profile.roofline.kernel == "k" and set(profile.reasons) == {"timing_parameters"}
    assert (kernel.kernel, kernel.dispatches, kernel.time_ms, kernel.durations.max_ns) == ("k", 2, 0.002, 1500)
    assert kernel.critical_path_score == pytest.approx(2000 / 3000) and kernel.counters["SQ_WAVES"] == 16
    assert {name: kernel.reasons[name] for name in ("model_error", "sampling", "thread_trace")} == {
        "model_error": "times are measured", "sampling": "all of its dispatches were observed completely",
        "thread_trace": NOT_MADE,
    }  # fmt: skip
    assert "durations" not in kernel.reasons and [one.kernel for one in documents.roofline.kernels][0] == "k"


def test_what_is_reported_without_times_or_counters(tmp_path):
    documents = analysed(tmp_path / "t.db", {}, 'UPDATE rocpd_kernel_dispatch SET "end" = start')
    profile, kernel = documents.profile, next(one for one in documents.analysis.kernels if one.kernel == "k")
    assert (profile.runtime_ms, profile.roofline, profile.stability.runs) == (None, None, 0)
    assert {name: profile.reasons[name] for name in ("runtime_ms", "roofline")} == {
        "runtime_ms": NO_TIME,
        "roofline": NO_COUNTERS,
    }
    without = ("time_ms", "durations", "critical_path_score")
    assert [getattr(kernel, name) for name in without] == [None] * 3
    assert {name: kernel.reasons[name] for name in without} == dict.fromkeys(without, NO_TIME)
    assert kernel.reasons["operational_intensity"] == kernel.reasons["roofline_position"] == NO_COUNTERS
