"""Whole comparisons: planted regressions are found, and nothing else."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import statistics

import pytest
from markdown_it import MarkdownIt

import rocpd_database
from published_schemas import expect_published
from rocm_perf_lab.comparison.compare import compare
from rocm_perf_lab.comparison.limits import parsed
from rocm_perf_lab.comparison.read_run import read_side
from rocpd_database import Dispatch

KERNELS = {"alpha": 40_000, "beta": 9_000, "gamma": 1_500}  # ns
RUNS, DISPATCHES, SEEDS = 5, 6, 50
GAP = 100  # ns between dispatches
LIMITS = parsed(["time>2%", "kernel_time>2%", "span>2%", "vgprs>0", "scratch>0", "occupancy<0", "dispatches>0"])


def measured_runs(folder, chance, factors=None, runs=RUNS):
    """Runs of one build: each run has its own pace, and each dispatch deviates from it. factors: kernel -> how much slower."""
    folder.mkdir()
    begin = 0
    for run in range(runs):
        pace, work = chance.gauss(1, 0.008), []
        for _ in range(DISPATCHES):
            for kernel, ns in KERNELS.items():
                took = round(ns * pace * chance.gauss(1, 0.02) * (factors or {}).get(kernel, 1))
                work.append(Dispatch(kernel, begin, begin + took))
                begin += took + GAP
        rocpd_database.write(folder / f"{run}.db", work)
        begin += 1_000_000
    return folder


def registers(folder, kernel, column, value):
    for path in folder.glob("*.db"):
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE rocpd_info_kernel_symbol SET {column} = ? WHERE display_name = ?", (value, kernel))
            if column == "private_segment_size":
                which = "SELECT id FROM rocpd_info_kernel_symbol WHERE display_name = ?"
                connection.execute(
                    f"UPDATE rocpd_kernel_dispatch SET {column} = ? WHERE kernel_id IN ({which})", (value, kernel)
                )
    return folder


def changed(comparison):
    found = [(one.metric, one.verdict) for one in comparison.program]
    found += [(kernel.kernel, one.metric, one.verdict) for kernel in comparison.kernels for one in kernel.changes]
    return {one for one in found if one[-1] in ("more", "less") and one[-2] != "path"}


def test_planted_regressions_are_found_and_nothing_else(tmp_path):
    """`path` is left out: it comes from the first run on each side and has no interval."""
    found = []
    for seed in range(SEEDS):
        chance, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        base, same, slower = (
            measured_runs(folder / name, chance, factors)
            for name, factors in (("base", None), ("same", None), ("slower", {"beta": 1.15}))
        )
        comparisons = compare([base, same, slower], LIMITS).comparisons
        found.append([(changed(one), {limit.limit for limit in one.limits if limit.exceeded}) for one in comparisons])
        shutil.rmtree(folder)
    assert [without for without, _ in found] == [(set(), set())] * SEEDS
    slower = ("beta", "time", "more")
    planted = [of for _, of in found]
    assert sum(slower in seen and "time>2%" in exceeded for seen, exceeded in planted) >= 0.95 * SEEDS
    assert all(seen <= {slower, ("kernel_time", "more"), ("span", "more")} for seen, _ in planted)
    assert all(exceeded <= {"time>2%", "kernel_time>2%", "span>2%"} for _, exceeded in planted)


@pytest.mark.parametrize(("kernel", "column", "value", "expected"), [
    ("beta", "arch_vgpr_count", 136, {"vgprs>0": "more", "occupancy<0": "less"}),
    ("gamma", "private_segment_size", 64, {"scratch>0": "more"}),
])  # fmt: skip
def test_planted_registers_are_found_and_nothing_else(tmp_path, kernel, column, value, expected):
    chance = random.Random(1)
    base, new = measured_runs(tmp_path / "base", chance), measured_runs(tmp_path / "new", chance)
    (one,) = compare([base, registers(new, kernel, column, value)], LIMITS).comparisons
    assert changed(one) == {(kernel, limit[:-2], verdict) for limit, verdict in expected.items()}
    assert {limit.limit for limit in one.limits if limit.exceeded} == set(expected)


def test_modelled_times_are_compared_exactly(tmp_path):
    one, other = ([Dispatch("k", 0, took), Dispatch("m", 2000, 2100)] for took in (1000, 1021))
    paths = [rocpd_database.write(tmp_path / f"{n}.db", work, rocpd_database.MODELLED) for n, work in enumerate((one, other))]
    (found,) = compare(paths, parsed(["time>2%", "time>2.1%", "time>20ns", "time>21ns", "kernel_time>1.9%"])).comparisons
    assert [limit.exceeded for limit in found.limits] == [True, False, True, False, True]
    assert found.limits[0].by == ["k: time 1 us -> 1.02 us (+2.1 %)"]
    kernel = found.kernels[0]
    assert (kernel.kernel, kernel.changes[0].change, kernel.changes[0].verdict) == ("k", pytest.approx(0.021), "more")
    assert kernel.share == pytest.approx(1000 / 1100)
    assert [change.verdict for change in found.kernels[1].changes if change.metric != "path"] == ["same"] * 8


def test_one_run_without_spread_decides_nothing(tmp_path):
    """A time that was measured only once may be off by any amount."""
    paths = [rocpd_database.write(tmp_path / f"{took}.db", [Dispatch("k", 0, took)]) for took in (1000, 2000)]
    (found,) = compare(paths, parsed(["time>2%"])).comparisons
    (limit,) = found.limits
    assert not limit.exceeded and limit.undecided[0].startswith("k: time 1 us -> 2 us (+100.0 %; one run with 1 dispatches")


def test_measured_and_modelled_times_are_not_compared(tmp_path, rocm_perf):
    rocpd_database.write(tmp_path / "measured.db", [Dispatch("k", 0, 5)])
    rocpd_database.write(tmp_path / "modelled.db", [Dispatch("k", 0, 5)], rocpd_database.MODELLED)
    done = rocm_perf("compare", "measured.db", "modelled.db")
    assert done.returncode == 65 and "cannot be compared" in done.stderr and not done.stdout


def test_counters_on_both_sides(tmp_path):
    counters = [{"SQ_INSTS_VALU": [60.0, 40.0], "SQ_WAVES": [4.0]}, {"SQ_INSTS_VALU": [111.0], "SQ_WAVES": [4.0]}]
    paths = [
        rocpd_database.write(tmp_path / f"{n}.db", [Dispatch("k", 0, 5, counters=of)], rocpd_database.MODELLED)
        for n, of in enumerate(counters)
    ]
    (found,) = compare(paths, parsed(["SQ_INSTS_VALU>10%", "SQ_WAVES>0", "SQ_INSTS_LDS>0"])).comparisons
    assert found.kernels[0].counters == {"SQ_INSTS_VALU": (100.0, 111.0)} and found.kernels[0].same_counters == ["SQ_WAVES"]
    assert [limit.exceeded for limit in found.limits] == [True, False, False]
    assert found.limits[2].undecided == ["no kernel has SQ_INSTS_LDS on both sides"]


def test_the_command_line(tmp_path, rocm_perf):
    chance = random.Random(7)
    measured_runs(tmp_path / "base", chance)
    measured_runs(tmp_path / "new", chance, {"alpha": 1.3})
    measured_runs(tmp_path / "as it was", chance)
    arguments = "compare", "base", "new", "as it was", "--fail-on", "time>5%"
    done = rocm_perf(*arguments, "--json")
    document = json.loads(done.stdout)
    expect_published("compare", document)
    assert done.returncode == 54 and document["exceeded"] and not done.stderr
    assert [[limit["exceeded"] for limit in one["limits"]] for one in document["comparisons"]] == [[True], [False]]
    text = rocm_perf(*arguments)
    assert text.returncode == 54
    assert "  Limit   time>5% is EXCEEDED\n          - alpha: time " in text.stdout and "time>5% is kept" in text.stdout
    markdown = rocm_perf(*arguments, "--markdown")
    tables = [token for token in MarkdownIt().enable("table").parse(markdown.stdout) if token.type == "table_open"]
    assert markdown.returncode == 54 and len(tables) == 2
    assert rocm_perf("compare", "base", "as it was", "--fail-on", "time>5%").returncode == 0
    wrong = rocm_perf("compare", "base", "new", "--fail-on", "tim>5%")
    assert wrong.returncode == 2 and "did you mean time?" in wrong.stderr
    assert rocm_perf("compare", "base", "absent").returncode == 66
    none = rocm_perf("compare", "base", "new", "--kernel", "nothing", "--fail-on", "time>5%")
    assert none.returncode == 2 and "no kernel matches nothing; there are alpha" in none.stderr
    assert rocm_perf("compare", "base", "new", "--json", "--markdown").returncode == 2


def test_a_run_directory_compares_like_its_database(tmp_path, rocm_perf):
    chance = random.Random(3)
    measured_runs(tmp_path / "runs", chance, runs=1)
    assert rocm_perf("analyze", "-o", "run.rocm-perf", "runs/0.db").returncode == 0
    from_folder, from_database = read_side(tmp_path / "run.rocm-perf"), read_side(tmp_path / "runs")
    assert from_folder.spans_ns == from_database.spans_ns
    for symbol, kernel in from_database.kernels.items():
        other = from_folder.kernels[symbol]
        assert [times.tolist() for times in other.durations] == [times.tolist() for times in kernel.durations]
        assert (other.resources, other.bottleneck, other.path_ns) == (kernel.resources, kernel.bottleneck, kernel.path_ns)


def test_recorded_runs_compare_as_sql_computes(shared_data):
    """Two builds of one kernel with different parameters."""
    paths = [shared_data / "rocpd" / f"mi300x_bmm_{run}.db" for run in "ab"]
    means, registers = [], []
    for path in paths:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True) as connection:
            query = "SELECT duration FROM kernels WHERE name LIKE 'void batched%'"
            means.append(statistics.fmean(took for (took,) in connection.execute(query)))
            query = "SELECT arch_vgpr_count FROM rocpd_info_kernel_symbol WHERE kernel_name LIKE '%batched%'"
            registers.append(connection.execute(query).fetchone()[0])
    (found,) = compare(paths, parsed(["time>1%"])).comparisons
    (kernel,) = (one for one in found.kernels if not one.is_runtime)
    changes = {one.metric: one for one in kernel.changes}
    counts = changes["dispatches"]
    assert changes["time"].change == pytest.approx(means[1] * counts.new / (means[0] * counts.base) - 1)
    assert (changes["vgprs"].base, changes["vgprs"].new) == tuple(registers)
    assert kernel.matched_by == "function name"
    assert found.limits[0].undecided and not found.limits[0].exceeded  # the dispatches vary too much to be sure
