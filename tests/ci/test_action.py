"""The GitHub action and the GitLab template: their formats, and the action's steps, run as a runner would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
ACTION = REPOSITORY / "action.yml"
SUBSTITUTION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", ".github/workflows/tests.yml"),
        ("github-workflows", ".github/workflows/release.yml"),
        ("gitlab-ci", "env/gitlab-ci.yml"),
    ],
)
def test_files_have_the_published_formats(schema, file):
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", REPOSITORY / file],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_workflow_of_the_guide_has_the_published_format_and_gives_inputs_that_exist(tmp_path):
    (text,) = re.findall(r"(?s)```yaml\n(.*?)```", (REPOSITORY / "docs" / "guide" / "ci.md").read_text())
    file = tmp_path / "workflow.yml"
    file.write_text(text)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", file]
    assert subprocess.run(command, capture_output=True).returncode == 0
    given = [
        step["with"] for step in yaml.safe_load(text)["jobs"]["performance"]["steps"] if "rocm-perf-lab" in step.get("uses", "")
    ]
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert len(given) == 1 and set(given[0]) <= set(inputs)
    required = {name for name, entry in inputs.items() if entry.get("required")}
    assert required <= set(given[0])


class Runner:
    """Runs the `run` steps of the action in `folder`, as GitHub's documentation describes, and keeps their reports."""

    def __init__(self, folder: Path, scratch: Path, **inputs: str):
        self.folder, self.scratch = folder, scratch
        self.steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
        defaults = {name: entry.get("default", "") for name, entry in yaml.safe_load(ACTION.read_text())["inputs"].items()}
        self.inputs = defaults | inputs
        self.summary, self.output = scratch / "summary", scratch / "output"
        self.codes: list[int] = []
        self.said = ""

    def value(self, expression: str) -> str:
        """The value of an expression that the action uses in `env`: an input, or the choice of the base."""
        if "github.base_ref" in expression:
            return self.inputs["base"] or "HEAD~1"  # not a pull request
        return self.inputs[expression.removeprefix("inputs.")]

    def run(self) -> None:
        for step in self.steps:
            if "run" not in step or (any(self.codes) and "cancelled" not in step.get("if", "")):
                continue
            given = {
                name: SUBSTITUTION.sub(lambda found: self.value(found[1]), text) for name, text in step.get("env", {}).items()
            }
            files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output)}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder,
                env=os.environ | files | {"GITHUB_ACTION_PATH": str(REPOSITORY)} | given,
                capture_output=True,
                text=True,
            )
            self.codes.append(done.returncode)
            self.said += done.stderr


def test_the_steps_of_the_action_fail_the_job_for_a_slower_kernel_and_show_why(checkout, native_dir, hipcc, tmp_path):
    checkout.commit("start", app_hip=checkout.source(20))
    checkout.commit("slower", app_hip=checkout.source(2000))
    runner = Runner(
        checkout.folder,
        tmp_path,
        build="hipcc -g -O3 app.hip -o app\n",
        program="fast=./app\n\n./app two words\n",
        options="--device\ngfx942\n",
    )
    runner.run()
    assert runner.codes == [0, 54, 0], runner.said
    assert "limits exceeded in fast, app" in runner.summary.read_text()
    kept = dict(line.split("=", 1) for line in runner.output.read_text().splitlines() if line.startswith("key="))
    assert re.fullmatch(r"rocm-perf-lab-[0-9a-f]{12}-[0-9a-f]{12}", kept["key"])
    assert f"{REPOSITORY}/build" in runner.output.read_text().splitlines()
    suites = ElementTree.parse(checkout.folder / "rocm-perf-ci" / "junit.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["fast", "app"]


def test_missing_inputs_are_named(tmp_path):
    script = REPOSITORY / "env" / "ci.sh"
    done = subprocess.run([script, "compare"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert done.returncode != 0 and "ROCM_PERF_BASE: name the revision to compare with" in done.stderr
    usage = subprocess.run([script], capture_output=True, text=True)
    assert usage.returncode == 64 and "ci.sh compare" in usage.stderr
