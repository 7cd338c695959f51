"""Answers that change the launch of their kernel: how the answer expresses it, and how it is applied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.gate.source.launch_rule import launch_text
from rocm_perf_lab.hip_source.program_launches import program_launches
from rocm_perf_lab.llm.hip_code_block import UnusableAnswer, code_of, launch_of
from rocm_perf_lab.llm.launch_of_answer import launch_edits
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.prompt.launch_terms import launch_terms
from small_projects import PROJECTS, Project

ANSWER = Path(__file__).with_name("softmax_row_per_workgroup.md")


def test_an_answer_may_contain_the_kernel_and_its_launch():
    text = ANSWER.read_text()
    assert launch_of(text) == "softmax_naive<<<rows, 128, 128 * 4>>>\n" and "scratch[]" in code_of(text)
    assert launch_of(text.replace("```launch", "```")) is None
    again = text + "\n```launch\n<<<1, 64>>>\n```\n"
    assert launch_of(again).reason.startswith("the answer has 2 fenced blocks `launch`")
    assert launch_of("```launch\n<<<1, 64>>>").reason == "the fenced block `launch` does not end"


def source_of(folder: Path, monkeypatch, project: Project):
    monkeypatch.chdir(project.written_to(folder))
    return find_build_target((project.program,), Path(project.source), project.build).read()


@pytest.mark.usefixtures("hipcc")
def test_every_launch_gets_the_new_shape_with_its_own_names(tmp_path, monkeypatch):
    project = PROJECTS["sources, launch apart"]()
    run = project.files["run.hip"]
    more = "void more(const int* a, int* b, int n, int w) { sums<<<(n + 63) / 64, 64>>>(a, b, n, w); }\n"
    source = source_of(
        tmp_path, monkeypatch, Project({**project.files, "run.hip": run + more}, project.source, build=project.build)
    )
    kernel = source.kernel("sums")
    terms = launch_terms(source, kernel)
    assert terms.changeable and "now" in terms.rule and "`rows`, `width`" in terms.rule
    edits = launch_edits(source, kernel, "sums<<<dim3(rows, (width + 1) / 2), 128, 4 * 128>>>;\n")
    assert {path.name for path, _ in edits} == {"run.hip"}
    written = source.edited((), edits).content((tmp_path / "run.hip").resolve()).decode()
    assert "sums<<<dim3 ( n , ( w + 1 ) / 2 ), 128, 4 * 128>>>(a, b, n, w)" in written
    shapes = {launch_text(one.shape) for one in program_launches(source.edited((), edits), kernel)}
    assert len(shapes) == 2 and all("128, 4 * 128" in one for one in shapes)  # alike except for the names


WRONG = {
    "no shape": ("rows, 64", "has no launch"),
    "one operand": ("<<<rows>>>", "has 1 operands"),
    "a stream": ("<<<rows, 64, 0, 0>>>", "has 4 operands"),
    "an assignment": ("<<<rows = 1, 64>>>", "has `= 1, 64`"),
    "a string": ('<<<rows, "64">>>', 'has `"64"`'),
    "code behind it": ("<<<rows, 64>>>(in, out, rows, width); abort()", "has no launch"),
    "a pointer": ("<<<in, 64>>>", "does not pass in as a plain integer variable"),
}


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_launch_is_reported(name, tmp_path, monkeypatch):
    text, told = WRONG[name]
    source = source_of(tmp_path, monkeypatch, PROJECTS["header, launch in the source"]())
    found = launch_edits(source, source.kernel("sums"), text)
    assert isinstance(found, UnusableAnswer) and told in found.reason, found


@pytest.mark.usefixtures("hipcc")
def test_a_launch_that_must_stay_is_announced_beforehand(tmp_path, monkeypatch):
    project = PROJECTS["sources, launch apart"]()
    run = project.files["run.hip"] + "void* of() { return (void*)sums; }\n"
    source = source_of(tmp_path, monkeypatch, Project({**project.files, "run.hip": run}, project.source, build=project.build))
    terms = launch_terms(source, source.kernel("sums"))
    assert not terms.changeable and "are not yours to change (sums is referenced without being launched in line" in terms.rule


@pytest.mark.slow
def test_a_launch_from_a_model_gives_the_full_gain_of_softmax(repository, rocm_perf, tmp_path, native_dir):
    """An answer with a launch: one workgroup per row, as anybody would write it."""
    for name in ("softmax.hip", "check.h"):
        shutil.copy(repository / "testbed" / name, tmp_path)
    compile_hip("-O3", "--offload-arch=gfx942", "softmax.hip", "-o", "softmax_testbed", cwd=tmp_path)
    options = ["--auto-approve", "--accept", "modelled", "--seed", 7, "--ulps", 600, "--check", "grep -q PASS", "--json"]
    model = ["--provider", "command", "--model", f"cat {ANSWER}", "--kernel", "softmax_naive", "--max-iters", 1]
    words = ["softmax.hip", "./softmax_testbed --rows 512 --cols 256 --kernel naive"]
    done = rocm_perf("llm-optimize", *options, *model, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (accepted,) = found["iterations"]
    assert accepted["kernel_time_ratio"] <= 1 - 0.84 and found["improvement"] >= 0.84, found["answers"]
    written = (tmp_path / "softmax.optimized.hip").read_text()
    assert "softmax_naive<<<rows, 128, 128 * 4>>>(device_in" in written
