"""What the gate reads from a run of the program equals what its documents say."""

from __future__ import annotations

import pytest

import rocpd_database
from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.gate.application.program_run import read_program_run
from rocm_perf_lab.profiling.pipeline import analyse
from rocpd_database import Copy, Dispatch

COUNTERS = {
    "TCC_BUBBLE_sum": [100.0],
    "TCC_EA0_RDREQ_sum": [3000.0],
    "TCC_EA0_RDREQ_32B_sum": [1000.0],
    "TCC_EA0_WRREQ_sum": [700.0],
    "TCC_EA0_WRREQ_64B_sum": [600.0],
}


def trace(folder, counters):
    work = [
        Dispatch("__amd_rocclr_fillBufferAligned", 0, 500, counters=counters),
        Dispatch("one", 600, 900, counters=counters),
        Dispatch("other", 1000, 1100, counters=counters),
    ]
    return rocpd_database.write(folder / "t.db", work, rocpd_database.MODELLED)


@pytest.mark.parametrize("counters", [COUNTERS, {}], ids=["counters", "none"])
def test_figures_of_a_run_equal_those_of_its_documents(tmp_path, counters):
    path = trace(tmp_path, counters)
    run, documents = read_program_run("p", path, b"out"), analyse(path)
    (hbm,) = (level for level in documents.roofline.total.levels if level.level == "HBM")
    assert (run.runtime_ms, run.dram_bytes) == (documents.profile.runtime_ms, hbm.bytes)
    assert (run.timing, run.timing_parameters) == (documents.profile.timing, documents.profile.timing_parameters)
    assert (run.dram_bytes or 0) > 0 if counters else run.dram_bytes is None
    assert run.counters["one"].get("TCC_EA0_RDREQ_sum") == (3000.0 if counters else None)


def test_a_program_without_kernels_is_an_error(tmp_path):
    with pytest.raises(NoKernelsError, match="launched no GPU kernel"):
        read_program_run("p", rocpd_database.write(tmp_path / "t.db", [Copy(0, 10)], rocpd_database.MODELLED), b"")


def test_times_are_needed(shared_data):
    with pytest.raises(NoKernelsError, match="p has no times"):
        read_program_run("p", shared_data / "rocprofv3" / "v_nocounterclock" / "v_results.db", b"")
