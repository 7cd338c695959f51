"""`rocm-perf ceilings` on the software device: the resulting rates are those that the timing model was given."""

from __future__ import annotations

import json
import subprocess

import pytest

from published_schemas import expect_published
from rocm_perf_lab.analysis.ceilings import read_ceilings
from rocm_perf_lab.profiling.ceilings import BENCHMARKS
from rocm_perf_lab.toml import tomllib

CHOSEN = ("HBM", "L1", "valu_f64", "mfma_bf16", "mfma_xf32")


@pytest.fixture(scope="module")
def measured(native_dir, tmp_path_factory, rocm_perf_in, hipcc):
    """The printed document, and the folder of the files."""
    folder = tmp_path_factory.mktemp("ceilings")
    only = [argument for name in CHOSEN for argument in ("--only", name)]
    run = rocm_perf_in(folder, "ceilings", "--device", "gfx942", "--json", "-o", folder / "out", *only)
    return json.loads(run.stdout), folder / "out"


@pytest.fixture(scope="module")
def model(repository):
    table = tomllib.loads((repository / "src/rocm_perf_lab/arch/timing_gfx942.toml").read_text())
    return {name: entry["value"] for name, entry in table.items()}


def test_each_rate_is_close_to_that_of_the_timing_model(measured, model):
    """It is lower by the cost of loops and scheduling, and never higher."""
    rate = {entry.get("level") or (entry["precision"], entry["pipe"]): entry["value"] for entry in measured[0]["ceilings"]}
    cus = model["xcds"] * model["cus_per_xcd"]
    cu_clocks = cus * model["clock_mhz"] / 1e3  # a nanosecond
    roofs = {
        "HBM": model["hbm_gbps"] * model["hbm_efficiency"],
        "L1": model["l1_bytes_per_cycle"] * cu_clocks,
        ("f64", "valu"): 2 * 64 * model["simds_per_cu"] / model["valu_cycles"] * cu_clocks,
        ("bf16", "mfma"): model["matrix_16bit_per_cycle"] * cu_clocks,
    }
    for key, roof in roofs.items():
        assert 0.75 * roof < rate[key] < 1.03 * roof, key


def test_xf32_runs_at_the_published_peak(measured):
    """The MI300X's data sheet says 653.7 TFLOPS."""
    xf32 = next(entry for entry in measured[0]["ceilings"] if entry.get("precision") == "xf32")
    assert xf32["value"] == pytest.approx(653.7e3, rel=0.01)


def test_on_rdna_2_doubles_have_a_sixteenth_of_the_rate(native_dir, tmp_path, rocm_perf_in, hipcc):
    only = ("--only", "valu_f32", "--only", "valu_f64")
    run = rocm_perf_in(tmp_path, "ceilings", "--device", "gfx1030", "--json", "-o", tmp_path / "out", *only)
    rate = {entry["precision"]: entry["value"] for entry in json.loads(run.stdout)["ceilings"]}
    assert rate["f32"] == pytest.approx(20.74e3, rel=0.2)  # 72 CUs of 64 lanes at 2250 MHz
    assert rate["f64"] == pytest.approx(20.74e3 / 16, rel=0.05)


def test_both_files_say_the_same_and_are_labelled(measured):
    document, folder = measured
    expect_published("ceilings", document)
    assert document["timing"] == "modelled" and document["effort"] == "brief"
    assert json.loads((folder / "ceilings.json").read_text()) == document
    of_json, of_csv = read_ceilings(folder / "ceilings.json"), read_ceilings(folder / "roofline.csv")
    assert (of_json.target, of_json.timing) == ("gfx942", "modelled")
    for name, found in (("bandwidth", of_csv.bandwidth), ("arithmetic", of_csv.arithmetic)):
        wanted = getattr(of_json, name)
        assert set(found) == set(wanted)
        assert all(found[key].value == pytest.approx(wanted[key].value, rel=1e-7) for key in wanted)


def test_an_unknown_benchmark_is_one_clear_error(rocm_perf, native_dir):
    run = rocm_perf("ceilings", "--device", "gfx942", "--only", "L9")
    assert run.returncode == 2 and "L9" in run.stderr and "mfma_f16" in run.stderr


def test_a_profile_with_ceilings_has_both_roofs(measured, testbed, tmp_path, rocm_perf_in):
    """A copy attains a rate closer to that of a stream of reads than to the data sheet."""
    ceilings = measured[1] / "ceilings.json"
    options = (
        "--device",
        "gfx942",
        "--runs",
        1,
        "--no-deep-analysis",
        "--json",
        "-o",
        tmp_path / "run",
        "--ceilings",
        ceilings,
    )
    run = rocm_perf_in(tmp_path, "profile", *options, testbed("bottlenecks"), "--kernel", "streams")
    found = json.loads(run.stdout)
    assert found["roofline"]["ceilings"] == {"source": "ceilings.json", "timing": "modelled"}
    streams = next(roof for roof in found["roofline"]["kernels"] if roof["kernel"].startswith("streams"))
    hbm = streams["levels"][0]
    reached = next(entry["value"] for entry in measured[0]["ceilings"] if entry.get("level") == "HBM")
    assert hbm["measured_gbps"] == reached
    assert hbm["fraction_of_measured"] == pytest.approx(hbm["gbps"] / reached)
    assert hbm["fraction"] < hbm["fraction_of_measured"] < 1.05
    assert streams["levels"][2]["measured_gbps"] is None  # the L2 was not among the chosen benchmarks
    total = found["roofline"]["total"]  # one kernel: the same
    assert (total["gflops"], total["levels"][0]["bytes"]) == (streams["gflops"], hbm["bytes"])


def test_ceilings_of_another_target_are_refused_before_the_program_runs(rocm_perf, testbed, tmp_path):
    other = {"target": "gfx90a", "timing": "measured", "ceilings": [{"level": "HBM", "value": 1.0, "low": 1.0, "high": 1.0}]}
    (tmp_path / "c.json").write_text(json.dumps(other))
    run = rocm_perf("profile", "--device", "gfx942", "--ceilings", "c.json", testbed("vcopy"))
    assert run.returncode == 2 and "gfx90a" in run.stderr and "PASS" not in run.stdout
    assert not list(tmp_path.glob("*.rocm-perf"))


@pytest.mark.slow
@pytest.mark.parametrize("target", BENCHMARKS)
def test_the_microbenchmarks_compile_for_every_target(target, repository, tmp_path, hipcc):
    source = repository / "src/rocm_perf_lab/profiling/ceilings.hip"
    command = ["hipcc", "-O3", "-std=c++20", "-Wall", "-Wextra", f"--offload-arch={target}", "-o", tmp_path / "program", source]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
