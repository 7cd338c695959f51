"""What `pip install rocm-perf-lab` gives on a plain machine: the wheel, and its requirements from the packages installed
here."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rocpd_database
from rocm_perf_lab.extras import EXTRAS
from rocpd_database import Dispatch

RUNNER = Path(__file__).with_name("base_only.py")
SPACE = {
    "results": [
        {"configuration": {"a": a, "b": b}, "times": {"runtimes": [a + b]}, "measurements": [{"name": "time", "value": a + b}],
         "objectives": ["time"], "invalidity": "correct"}
        for a in range(1, 9) for b in range(1, 9)
    ],
    "schema_version": "1.0.0", "metadata": {},
}  # fmt: skip
TUNE = ["autotune", "--simulate", "t4.json", "--budget", "30", "--json"]
COMMANDS = {
    "analyze": ["analyze", "-o", "run", "t.db", "--json"],
    "again": ["analyze", "-o", "slow", "slow.db", "--json"],
    "report": ["report", "run"],
    "compare": ["compare", "run", "slow", "--json"],
    "compare databases": ["compare", "t.db", "slow.db", "--json"],
    "export": ["export", "t.db", "--csv", "tables", "--chrome", "chrome.json", "--markdown", "-"],
    "schema": ["schema", "profile"],
    "counters": ["counters"],
    "completion": ["completion", "bash"],
    "doctor": ["doctor"],
    "autotune": TUNE,
    "three-phase": [*TUNE, "--strategy", "three-phase"],
    "perfetto": ["export", "t.db", "--perfetto", "p.pftrace"],
    "mcp": ["mcp"],
    "dask": ["analyze", "-o", "far", "t.db", "--scheduler", "tcp://localhost:1"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    for name, times in (("t.db", 1000), ("slow.db", 3000)):
        work = [Dispatch("k(int)", n * 10_000, n * 10_000 + times + n % 7) for n in range(40)]
        rocpd_database.write(folder / name, work)
    (folder / "t4.json").write_text(json.dumps(SPACE))
    return folder


@pytest.fixture(scope="module")
def base(unpacked, folder):
    """Command -> (exit code, stdout, stderr)."""
    line = [sys.executable, RUNNER, unpacked, json.dumps(list(COMMANDS.values()))]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(COMMANDS, json.loads(done.stdout), strict=True))


def test_what_works_without_extras(base, folder):
    needing_one = {"three-phase", "perfetto", "mcp", "dask", "doctor"}
    for name in COMMANDS.keys() - needing_one:
        code, out, err = base[name]
        assert (code, bool(out)) == (0, True), (name, err)
    assert len(list(csv.reader((folder / "tables/dispatches.csv").open()))) == 41
    assert json.loads((folder / "chrome.json").read_text())["traceEvents"]
    assert (folder / "run" / "report.html").exists() and not (folder / "run" / "dispatches.parquet").exists()
    assert "dispatches.parquet is not written" in base["analyze"][2]
    assert "rocm-perf-lab[fast]" in base["doctor"][1]


def test_a_comparison_needs_individual_dispatches_only_for_certainty(base):
    of_runs, of_databases = (json.loads(base[name][1])["comparisons"][0] for name in ("compare", "compare databases"))
    (one,), (other,) = ([c for c in of["kernels"][0]["changes"] if c["metric"] == "time"] for of in (of_runs, of_databases))
    assert (one["base"], one["new"]) == (other["base"], other["new"])
    assert (one["interval"], other["verdict"]) == (None, "more")


@pytest.mark.parametrize(
    ("command", "extra"), [("three-phase", "autotune"), ("perfetto", "perfetto"), ("mcp", "mcp"), ("dask", "dask")]
)
def test_commands_that_need_an_extra_name_it(base, command, extra):
    code, _, err = base[command]
    assert code == 69 and f"pip install 'rocm-perf-lab[{extra}]'" in err and err.count("\n") == 1


def test_documents_do_not_depend_on_extras(base, folder, rocm_perf, tmp_path):
    assert rocm_perf("analyze", "-o", tmp_path / "all", folder / "t.db", cwd=folder).returncode == 0
    for name in ("profile", "analysis", "dag", "roofline"):
        with_all, without = (json.loads((place / f"{name}.json").read_text()) for place in (tmp_path / "all", folder / "run"))
        for one in (with_all, without):
            one.pop("run", None), one.pop("tool", None)
        assert with_all == without


def test_the_extras_match_the_metadata(unpacked):
    from importlib.metadata import Distribution

    (info,) = unpacked.glob("*.dist-info")
    assert set(Distribution.at(info).metadata.get_all("Provides-Extra")) == {*EXTRAS, "dev"}
