"""`rocm-perf ci` from beginning to end, on real git repositories and real programs."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from published_schemas import expect_published

BUILD = ("--build", "hipcc -g -O3 app.hip -o app")
LIMITS = ("--fail-on", "time>2%", "--fail-on", "scratch>0")


@pytest.fixture
def ci(checkout, rocm_perf, native_dir, hipcc):
    def run(*arguments: str):
        return rocm_perf("ci", *arguments, cwd=checkout.folder)

    return run


def test_a_slower_kernel_fails_and_later_changes_on_the_base_do_not(checkout, ci):
    start = checkout.commit("start", app_hip=checkout.source(200))
    checkout.git("switch", "--quiet", "--create", "change")
    head = checkout.commit("more | work", app_hip=checkout.source(1000))
    checkout.git("switch", "--quiet", "main")
    checkout.commit("much faster", app_hip=checkout.source(10))
    checkout.git("switch", "--quiet", "change")

    done = ci("--base", "main", *BUILD, "--program", "./app", *LIMITS, "--json")
    assert done.returncode == 54, done.stderr
    document = json.loads(done.stdout)
    expect_published("ci", document)
    assert (document["base"]["commit"], document["head"]["commit"]) == (start, head)
    (program,) = document["programs"]
    kernels = {one["kernel"].split("(")[0]: one for one in program["comparison"]["comparisons"][0]["kernels"]}
    times = {name: next(one for one in kernel["changes"] if one["metric"] == "time") for name, kernel in kernels.items()}
    assert times["scale"]["verdict"] == "more" and times["scale"]["change"] > 0.2
    assert times["offset"]["verdict"] == "same"

    output = checkout.folder / "rocm-perf-ci"
    assert json.loads((output / "ci.json").read_text()) == document
    for run in (program["base_run"], program["head_run"]):
        assert (output / run / "report.html").is_file()
    suites = ElementTree.parse(output / "junit.xml").getroot()
    assert {key: suites.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3", "failures": "1", "errors": "0", "skipped": "0",
    }  # fmt: skip
    failed = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    assert failed == ["time>2%"]
    page = MarkdownIt().enable("table").render((output / "summary.md").read_text())
    assert "<h2>GPU performance: limits exceeded in app</h2>" in page and "more | work" in page and "<table>" in page
    assert checkout.git("status", "--porcelain") == "" and "source" not in checkout.git("worktree", "list")


def test_equal_revisions_stay_within_all_limits(checkout, ci):
    checkout.commit("start", app_hip=checkout.source(20))
    checkout.commit("a word", README="hello")
    done = ci("--base", "HEAD~", *BUILD, "--program", "small=./app", *LIMITS, "--fail-on", "span>0", "--markdown")
    assert done.returncode == 0, done.stderr
    assert "## GPU performance: limits kept" in done.stdout and "small" in done.stdout


def test_a_program_that_the_base_lacks_is_new(checkout, ci):
    checkout.commit("start", README="nothing to build yet", build_sh="#!/bin/sh\n")
    checkout.commit("app", app_hip=checkout.source(20), build_sh="#!/bin/sh\nhipcc -O3 app.hip -o app\n")
    done = ci("--base", "HEAD~", "--build", "sh build.sh", "--program", "./app", *LIMITS)
    assert done.returncode == 0, done.stderr
    assert "compared, without limits" in done.stdout and "on the base: ./app does not exist" in done.stdout
    skipped = ElementTree.parse(checkout.folder / "rocm-perf-ci" / "junit.xml").getroot().get("skipped")
    assert skipped == "1"


def test_a_program_that_fails_ends_with_its_code_after_the_others(checkout, ci):
    checkout.commit("start", app_hip=checkout.source(20))
    broken = checkout.source(20).replace("return hipDeviceSynchronize() != hipSuccess", "hipDeviceSynchronize(); return 3")
    checkout.commit("broken", app_hip=broken)
    done = ci("--base", "HEAD~", *BUILD, "--program", "./app")
    assert done.returncode == 31 and "exited with status 3" in done.stderr
    errors = ElementTree.parse(checkout.folder / "rocm-perf-ci" / "junit.xml").getroot().get("errors")
    assert errors == "1" and "app failed" in done.stdout


def test_a_failed_build_shows_the_compiler(checkout, ci):
    checkout.commit("start", app_hip=checkout.source(20))
    checkout.commit("typo", app_hip=checkout.source(20) + "int x = undeclared_name;\n")
    done = ci("--base", "HEAD~", *BUILD, "--program", "./app")
    assert done.returncode == 55
    assert "undeclared_name" in done.stderr and "head/build.log" in done.stderr
    assert "source" not in checkout.git("worktree", "list")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--base", "nowhere", "--program", "./app"], 2, "nowhere is not a commit"),
        (["--base", "--help=x", "--program", "./app"], 2, "is not a commit"),
        (["--base", "HEAD", "--program", "./app", "--program", "./app 3"], 2, "two programs are called app"),
        (["--base", "HEAD", "--program", "./app", "--build", "cc 'x"], 2, "`cc 'x` is not a command (No closing quotation)"),
        (["--base", "HEAD", "--program", "./app", "--build", " "], 2, "a command is empty"),
        (["--base", "HEAD", "--program", "./app 'x"], 2, "is not a command"),
        (["--base", "HEAD", "--program", "./app", "-o", "."], 73, "something other than results"),
        (["--base", "HEAD", "--program", "./app", "--fail-on", "tme>2%"], 2, "did you mean time"),
    ],
)
def test_errors_are_reported_before_anything_is_built(checkout, rocm_perf, arguments, code, said):
    checkout.commit("start", README="text")
    done = rocm_perf("ci", *arguments, cwd=checkout.folder)
    assert done.returncode == code and said in done.stderr
    assert checkout.git("status", "--porcelain") == ""


def test_outside_of_a_repository(rocm_perf):
    done = rocm_perf("ci", "--base", "HEAD", "--program", "./app")
    assert done.returncode == 66 and "not in a checkout" in done.stderr
