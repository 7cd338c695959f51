"""`rocm-perf explain`: terms as used in verdicts, and the verdicts of a run with their numbers."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from published_schemas import expect_published
from rocm_perf_lab.analysis.bottleneck import CLASSES
from rocm_perf_lab.analysis.bottleneck_thresholds import factors, signals
from rocm_perf_lab.analysis.explanation import terms
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings as costs
from rocm_perf_lab.cli import cli
from rocpd_database import Dispatch, write

# Four waves on each of 1216 SIMDs, which wait for three quarters of their lifetimes, one access after the other.
WAVES = 4 * 1216
WAITING = {
    "SQ_WAVES": [WAVES], "SQ_WAVE_CYCLES": [WAVES * 5000], "SQ_WAIT_ANY": [WAVES * 3750], "SQ_WAIT_INST_ANY": [0],
    "GRBM_GUI_ACTIVE": [8 * 21000], "SQ_INSTS_VALU": [WAVES * 20], "SQ_INSTS_VMEM_RD": [WAVES * 40], "SQ_INSTS_VMEM_WR": [0],
}  # fmt: skip


@pytest.fixture
def explain(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["explain", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def run_directory(tmp_path, rocm_perf):
    work = [Dispatch("slow", 1_000, 11_000, grid=WAVES * 64, workgroup=64, counters=WAITING), Dispatch("other", 11_500, 12_000)]
    write(tmp_path / "trace.db", work)
    done = rocm_perf("analyze", "trace.db", "-o", "run")
    assert done.returncode == 0, done.stderr
    return "run"


def test_every_word_of_a_verdict_is_explained(explain):
    judged = [*CLASSES, *(factor.name for factor in factors()), *signals()]
    assert list(terms()) == [*judged, *(name for name in costs() if name not in judged)]
    listed = json.loads(explain("--json"))
    expect_published("explain", listed)
    assert [term["name"] for term in listed["terms"]] == list(terms())
    overview = " ".join(explain().split())
    for term in listed["terms"]:
        assert f"- {term['name']}: {term['meaning']}" in overview
        assert term["meaning"] and term["applies"] and (term["advice"] or term["kind"] == "number")


def test_a_cause_has_its_numbers_thresholds_and_sources(explain):
    text = " ".join(explain("latency-bound").split())
    wait = signals()["wait_fraction"]
    assert f"Number wait_fraction at least {wait.threshold:g}: {wait.why}" in text
    assert f"threshold: {wait.source}; {wait.rationale}" in text
    assert "Try put more loads in flight" in text


def test_a_run_is_explained_by_its_numbers(explain, run_directory):
    (slow, other) = json.loads(explain(run_directory, "--json"))["kernels"]
    assert (slow["kernel"], slow["cause"]) == ("slow", "latency-bound")
    shown = {one["name"]: one["value"] for one in slow["evidence"]}
    assert shown["wait_fraction"] == pytest.approx(0.75)
    assert {one["name"] for one in slow["others"]} == {*CLASSES} - {"latency-bound"}
    text = " ".join(explain(run_directory).split())
    assert "slow: latency-bound" in text and "wait fraction 75.0 % >= 0.5" in text and "1 more: --kernel REGEX" in text
    assert explain(run_directory, "--kernel", "other").startswith(other["kernel"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["latency-bond"], 2, "did you mean latency-bound?"),
        (["--kernel", "x"], 2, "--kernel needs a run"),
        (["."], 66, "run directory"),
    ],
)
def test_what_is_wrong(rocm_perf, arguments, code, said):
    done = rocm_perf("explain", *arguments)
    assert done.returncode == code and said in done.stderr, done.stderr
