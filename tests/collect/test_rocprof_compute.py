"""AMD's rocprof-compute on the software device, and its tables compared with this project's metrics.

It is in no package registry. RPL_ROCPROF_COMPUTE names its script, RPL_ROCPROFV3 the rocprofv3 that it is to use (see
test_real_rocprofv3.py), and RPL_ROCPROF_COMPUTE_PYTHON a Python with what it needs: its analysis does not run with Python 3.12
and later. Without them these tests are left out.
"""

from __future__ import annotations

import csv
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.metric import Metric

TARGET = "gfx942"
# Kernels whose counters are not lost when it joins passes, for which it looks only for files of the SQ.
PANELS = "7 10 11 12 16 17".split()

pytestmark = pytest.mark.slow


def named(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    assert Path(value).is_file(), value
    return Path(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, repository) -> Path:
    folder = tmp_path_factory.mktemp("compute")
    compile_hip(f"--offload-arch={TARGET}", "-O3", repository / "testbed" / "softmax.hip", "-o", folder / "softmax")
    return folder


@pytest.fixture(scope="module")
def workload(folder, rocm_perf_in, tmp_path_factory) -> Path:
    """What `rocprof-compute profile` collected."""
    script, rocprofv3 = named("RPL_ROCPROF_COMPUTE"), named("RPL_ROCPROFV3")
    sdk = rocprofv3.parents[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{rocprofv3.parent}:{os.environ['PATH']}")
        patch.setenv("ROCM_PATH", str(sdk))
        library = ("--rocprofiler-sdk-library-path", sdk / "lib" / "librocprofiler-sdk.so")
        options = ("-n", "softmax", "--no-roof", "-b", *PANELS, *library, "-p", folder / "workload")
        python = named("RPL_ROCPROF_COMPUTE_PYTHON")
        rocm_perf_in(folder, "run", "--device", TARGET, python, script, "profile", *options, "--", folder / "softmax")
    return folder / "workload"


@pytest.fixture(scope="module")
def own(folder, rocm_perf_in) -> dict[str, dict[str, float]]:
    """Kernel -> counter -> value, from the built-in tracer; also the kernel's duration, as "ns"."""
    options = ("--runs", 1, "--no-deep-analysis", "--device-option", "flush-l2", "--device", TARGET)
    rocm_perf_in(folder, "profile", *options, "-o", "own", folder / "softmax")
    found: dict[str, dict[str, float]] = {}
    with sqlite3.connect(folder / "own" / ".rocpd_profile" / "base_results.db") as database:
        counters = "SELECT name, counter_name, sum(counter_value) FROM pmc_events GROUP BY 1, 2"
        for query in (counters, "SELECT name, 'ns', sum(duration) FROM kernels GROUP BY 1"):
            for kernel, counter, value in database.execute(query):
                found.setdefault(kernel, {})[counter] = value
    return {kernel: values for kernel, values in found.items() if kernel.startswith("softmax")}


def test_the_workload_has_the_counters_of_the_tracer(workload, own):
    with (workload / "pmc_perf.csv").open() as text:
        rows = {row["Kernel_Name"]: row for row in csv.DictReader(text)}
    assert len(own) == 2 and own.keys() <= rows.keys()
    compared = 0
    for kernel, counters in own.items():
        for counter in counters.keys() & rows[kernel].keys():
            if not counter.startswith("GRBM_"):  # it sums these itself, for each XCD
                assert float(rows[kernel][counter]) == pytest.approx(counters[counter], abs=0.5), (kernel, counter)
                compared += 1
    assert compared > 60 * len(own)


@pytest.fixture(scope="module")
def tables(workload, folder):
    """tables("-k", 0): (panel, metric) -> average, for the first kernel in its list; and ("0.1", number) -> kernel."""

    def analysed(*options: object) -> dict[tuple[str, str], str]:
        written = folder / "-".join(map(str, ("tables", *options)))
        words = (named("RPL_ROCPROF_COMPUTE_PYTHON"), named("RPL_ROCPROF_COMPUTE"), "analyze", "-p", workload, *options)
        command = [*map(str, words), "-n", "per_kernel", "--save-dfs", str(written)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        found = {}
        for file in written.glob("*.csv"):
            panel = file.name.split("_")[0]
            with file.open() as text:
                for number, row in enumerate(csv.DictReader(text)):
                    found[panel, row.get("Metric", str(number))] = row.get("Avg", row.get("Kernel_Name"))
        return found

    return analysed


def test_its_tables_have_the_same_metrics(tables, own):
    listed = {" ".join(kernel.split()): number for (panel, number), kernel in tables().items() if panel == "0.1"}
    assert own.keys() <= listed.keys()
    for kernel, counters in own.items():
        found = tables("-k", listed[kernel])
        for (panel, metric), value in expected(counters).items():
            if value is None:  # neither has one
                assert found[panel, metric] in ("", "nan"), (kernel, panel, metric)
            else:  # tables show two decimal places
                assert float(found[panel, metric]) == pytest.approx(value, rel=1e-9, abs=0.0051), (kernel, panel, metric)


def expected(counters: dict[str, float]) -> dict[tuple[str, str], float | None]:
    """(panel, metric) -> this project's value; None where the metric divides by 0."""
    family = family_of(TARGET)

    def of(metric: Metric) -> float | None:
        return metric(counters).value

    def per_ns(metric: Metric) -> float:
        return of(metric) / counters["ns"]

    flops = {key: of(metric) for key, metric in family.flops.items()}
    evidence = {name: of(metric) for name, metric in family.evidence.items()}
    read, written = family.hbm_bytes
    return {
        ("11.3", "FLOPs (Total)"): sum(flops.values()),
        ("11.3", "F32 OPs"): sum(value for (precision, _), value in flops.items() if precision == "f32"),
        ("11.3", "F16 OPs"): sum(value for (precision, _), value in flops.items() if precision == "f16"),
        ("17.1", "Hit Rate"): 100 * evidence["l2_hit_rate"],
        ("17.1", "L2-Fabric Read BW"): per_ns(read),
        ("17.1", "L2-Fabric Write and Atomic BW"): per_ns(written),
        ("16.3", "L1-L2 BW"): per_ns(family.cache_bytes["L2"]),
        ("16.3", "Cache BW"): per_ns(family.cache_bytes["L1"]),
        ("12.2", "Theoretical Bandwidth"): per_ns(family.cache_bytes["LDS"]),
        ("12.2", "Bank Conflict"): counters["SQ_LDS_BANK_CONFLICT"],
        ("12.2", "Index Accesses"): evidence["lds_busy_cycles"],
        ("10.1", "VALU"): evidence["valu_instructions"] - counters["SQ_INSTS_MFMA"],
        ("10.1", "VMEM"): evidence["vmem_instructions"],
        ("7.1", "Total Wavefronts"): evidence["waves"],
        ("7.2", "Wave Cycles"): evidence["wave_cycles"],
        ("7.2", "Dependency Wait Cycles"): evidence["wait_fraction"] * evidence["wave_cycles"],
        ("7.2", "Issue Wait Cycles"): evidence["issue_wait_fraction"] * evidence["wave_cycles"],
        ("7.2", "Wavefront Occupancy"): evidence["wave_cycles"] / (evidence["active_cycles"] / 8),
    }
