"""`rocm-perf report` prints later what `analyze` would have printed right away."""

from __future__ import annotations

import json
import os

import pytest

import rocpd_database
from published_schemas import expect_published
from rocpd_database import Copy, Dispatch

MORE = "  More    rocm-perf report t.rocm-perf, or t.rocm-perf/report.html in a browser\n"


@pytest.fixture
def run(tmp_path, rocm_perf):
    work = [Dispatch("alpha<int>(float*)", 0, 5000), Dispatch("beta()", 6000, 7000, depends_on=[(0, "queue")])]
    rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)
    return rocm_perf("analyze", "-v", "-o", "t.rocm-perf", "t.db")


def test_the_report_does_not_need_the_trace(run, rocm_perf, tmp_path):
    (tmp_path / "t.db").unlink()
    done = rocm_perf("report", "t.rocm-perf")
    assert (done.returncode, done.stdout) == (0, run.stdout) and "What to try next" in run.stdout
    short = rocm_perf("report", "--short", "t.rocm-perf").stdout
    assert len(short.splitlines()) <= 15 and short.endswith(MORE)
    assert rocm_perf("report", "t.rocm-perf", "t.rocm-perf").stdout == f"{run.stdout}\n{run.stdout}"
    document = json.loads(rocm_perf("report", "--json", "t.rocm-perf").stdout)
    expect_published("report", document)
    assert document["dag"] == json.loads((tmp_path / "t.rocm-perf" / "dag.json").read_text())


def test_the_page_is_made_again_with_the_options_of_the_run_and_without_its_trace(rocm_perf, tmp_path):
    work = [Copy(0, 900), *(Dispatch(f"k{n % 2}()", 1000 * n, 1000 * n + 700 + n, queue=n % 3) for n in range(1, 30))]
    rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)
    options = ["--what-if", "k0=3", "--kernel", "k0", "--time-window", "0.002ms:", "--memory-bandwidth-gbps", "4000"]
    done = rocm_perf("analyze", *options, "-o", "t.rocm-perf", "t.db")
    assert done.returncode == 0, done.stderr
    (tmp_path / "t.db").unlink()
    was = (tmp_path / "t.rocm-perf" / "report.html").read_bytes()
    (tmp_path / "t.rocm-perf" / "report.html").unlink()
    for place in ("t.rocm-perf/report.html", "else.html"):
        again = rocm_perf("report", "t.rocm-perf", "--html", place)
        assert again.returncode == 0 and f"wrote {place}" in again.stderr
        assert (tmp_path / place).read_bytes() == was


def test_a_report_is_as_wide_as_the_variable_columns_says(run, rocm_perf):
    widths = {
        columns: max(map(len, rocm_perf("report", "t.rocm-perf", environment={"COLUMNS": columns}).stdout.splitlines()))
        for columns in ("80", "200", "", "wide")
    }
    assert widths["80"] <= 80 < widths[""] <= 120 < widths["200"] and widths["wide"] == widths[""]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda folder: (folder / "analysis.json").unlink(), 66, "analysis.json: No such file"),
        (
            lambda folder: (folder / "dag.json").write_text('{"schema_version": "0.9"}'),
            65,
            "of this version: schema_version: Input",
        ),
        (lambda folder: (folder / "profile.json").write_bytes(b"\xff"), 65, "profile.json is damaged: Invalid JSON: "),
        (lambda folder: os.truncate(folder / "analysis.json", 100), 65, "analysis.json is damaged: Invalid JSON: EOF "),
    ],
)
def test_what_cannot_be_read(run, rocm_perf, tmp_path, change, code, said):
    change(tmp_path / "t.rocm-perf")
    done = rocm_perf("report", "t.rocm-perf")
    assert done.returncode == code and said in done.stderr and not done.stdout and done.stderr.count("\n") == 1
    assert "input_value" not in done.stderr  # pydantic's own messages are meant for programmers


def test_one_json_for_one_run(run, rocm_perf):
    assert rocm_perf("report", "--json", "t.rocm-perf", "t.rocm-perf").returncode == 2
    assert rocm_perf("report", "absent").returncode == 66
    assert "t.db is a file, not a run directory; `rocm-perf analyze`" in rocm_perf("report", "t.db").stderr


def test_ranks_are_reported_as_analyze_does(rocm_perf, tmp_path):
    for number in (0, 1):
        rocpd_database.write(tmp_path / f"{number}.db", [Dispatch("k", number, 900)])  # at the same time: two ranks
    said = rocm_perf("analyze", "-v", "-o", "r.rocm-perf", "0.db", "1.db")
    assert said.stdout.startswith("2 ranks\n") and rocm_perf("report", "r.rocm-perf").stdout == said.stdout
    refused = rocm_perf("report", "r.rocm-perf", "--html", "p.html")
    assert refused.returncode == 66 and "holds several ranks; name one of them, such as r.rocm-perf/" in refused.stderr
