"""Projects of several files, optimised end to end: the kernel in one file, its launches in others, built in several ways."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.gate.change import KernelChange
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.launch_change import LaunchRefusedError, launch_change
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, wave_per_row
from slow_variants import only
from small_projects import AFTER, COMMAND, LAUNCH, PROJECTS, Project

pytestmark = pytest.mark.usefixtures("hipcc")
OPTIONS = [
    "--device",
    "gfx942",
    "--auto-approve",
    "--accept",
    "modelled",
    "--json",
    "--seed",
    3,
    "--transforms",
    "wave-per-row",
]
CHEAP = ("sources, launch apart",)


def prepared(project: Project, folder: Path) -> Path:
    project.written_to(folder)
    for command in project.prepare:
        subprocess.run(shlex.split(command), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def words_of(project: Project) -> list[str]:
    return [*(["--build", project.build] if project.build else []), project.source, project.program]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "rocm-perf" not in str(path)}


def proposal_for(project: Project) -> tuple[object, Proposal | Refusal]:
    target = find_build_target((project.program,), Path(project.source), project.build)
    source = target.read()
    return source, next(wave_per_row.propose(source, source.kernel("sums"), ()))


@pytest.mark.parametrize("name", PROJECTS)
def test_all_launches_of_a_project_change_together(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = PROJECTS[name]()
    prepared(project, tmp_path)
    source, proposal = proposal_for(project)
    assert isinstance(proposal, Proposal), proposal
    changed = source.edited(proposal.edits, proposal.other_edits)
    assert {str(path.relative_to(tmp_path)) for path in changed.other_files} == set(project.launching)
    for text in changed.other_files.values():
        assert b", 256>>>" in text and LAUNCH.encode() not in text
    assert (AFTER.encode() in changed.text) == (LAUNCH in project.files[project.source])


@pytest.mark.parametrize("name", only(CHEAP, PROJECTS))
def test_a_project_is_optimised(name, tmp_path, rocm_perf_in, native_dir):
    project = PROJECTS[name]()
    folder = prepared(project, tmp_path / "project")
    before = contents(folder)
    found = json.loads(rocm_perf_in(folder, "optimize", *OPTIONS, "--max-iters", 1, *words_of(project)).stdout)
    assert found["accepted"] and found["improvement"] > 0.3, found
    assert {path: text for path, text in contents(folder).items() if path in before} == before
    results = {Path(path).name: Path(path) for path in found["written"]}
    changed = [folder / name for name in (project.source, *project.launching)]
    assert {file.with_name(f"{file.stem}.optimized{file.suffix}") for file in changed} < set(results.values())
    patch = next(path for name, path in results.items() if name.endswith(".patch"))
    rebuilt = prepared(project, tmp_path / "rebuilt")
    place = rebuilt / os.path.relpath(os.path.commonpath([file.parent for file in changed]), folder)
    subprocess.run(["patch", "-p1", "-i", patch], cwd=place, check=True, stdout=subprocess.DEVNULL)
    commands = [project.build] if project.build and not project.prepare else project.prepare
    for command in commands:
        subprocess.run(shlex.split(command), cwd=rebuilt, check=True, stdout=subprocess.DEVNULL)
    if not project.prepare:
        subprocess.run(shlex.split(project.build), cwd=folder, check=True)
    expect_the_same_again(found["run"], folder, rocm_perf_in)
    for program in (project.program, *project.beside):
        printed = [rocm_perf_in(one, "run", "--device", "gfx942", program).stdout for one in (folder, rebuilt)]
        assert printed[0] == printed[1] != ""


def expect_the_same_again(run: str, folder: Path, rocm_perf_in) -> None:
    """On the software device, whose times repeat, measuring again gives the predicted times."""
    found = json.loads(rocm_perf_in(folder.parent, "optimize", "--remeasure", run, "--device", "gfx942", "--json").stdout)
    (change,) = found["changes"]
    assert change["complaint"] is None and change["recorded"] == change["predicted"] < 0.7
    assert change["recorded_program"] == change["predicted_program"] < 0.7
    assert (found["timing"], found["rounds"], found["table"]) == ("modelled", 1, None)
    last = json.loads((Path(run) / "journal.jsonl").read_text().splitlines()[-1])
    assert last["event"] == "remeasured" and last["change"] == change


@pytest.mark.slow
def test_in_place_all_files_are_replaced_and_recorded(tmp_path, rocm_perf_in, native_dir):
    project = PROJECTS["sources, launch apart"]()
    folder = prepared(project, tmp_path)
    files = [folder / name for name in (project.source, *project.launching)]
    before = {path.name: path.read_bytes() for path in files}
    found = json.loads(rocm_perf_in(folder, "optimize", *OPTIONS, "--in-place", "--max-iters", 1, *words_of(project)).stdout)
    assert found["accepted"] and set(map(Path, found["written"])) >= {path.resolve() for path in files}
    assert AFTER.encode() in files[1].read_bytes() and all(path.read_bytes() != before[path.name] for path in files)
    backups = [path for path in Path(found["run"]).rglob("backup/*.hip") if not path.name.startswith("before-")]
    kept = {path.name: path.read_bytes() for path in backups}
    assert kept == before
    expect_the_same_again(found["run"], folder, rocm_perf_in)
    again = json.loads(rocm_perf_in(folder, "optimize", *OPTIONS, *words_of(project)).stdout)
    assert not again["accepted"] and again["stop"].startswith(("no kernel left that could gain 2 % or more", "no proposal"))


OWN = "__global__ void own(int* a) { *a = 1; }\n"
MACRO = "#define LAUNCH(f, n) f<<<(n + 63) / 64, 64>>>\n"
RUN = PROJECTS["sources, launch apart"]().files["run.hip"]
# name -> (files that differ from those of the project, words of the refusal)
REFUSED = {
    "its address taken": (
        {"run.hip": RUN + "void* of() { return (void*)sums; }\n"},
        "sums is referenced without being launched in line",
    ),
    "another launch of a different shape": (
        {"run.hip": RUN + "void more(int* a, int n) { sums<<<n, 64>>>(a, a, n, n); }\n"},
        "differ from each other already",
    ),
    "a function of the same name": (
        {"run.hip": RUN + "static __global__ void sums(float* a) { *a = 1; }\nvoid more(float* a) { sums<<<1, 64>>>(a); }\n"},
        "is, or may be, of another function named sums",
    ),
    "a shape by a call": (
        {"run.hip": RUN.replace("(rows + 63) / 64", "groups(rows)").replace("void run", "int groups(int);\nvoid run")},
        "of run.hip has a shape that is not arithmetic",
    ),
    "a launch by a macro": (
        {"run.hip": MACRO + RUN.replace("sums<<<(rows + 63) / 64, 64>>>", "LAUNCH(sums, rows)")},
        "of run.hip is made by a macro",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_launches_that_are_not_all_understood_are_refused_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more, told = REFUSED[name]
    project = PROJECTS["sources, launch apart"]()
    Project({**project.files, **more}, project.source).written_to(tmp_path)
    source, answer = proposal_for(project)
    kernel = source.kernel("sums")
    if isinstance(answer, Refusal):
        assert told in answer.reason, answer
    with pytest.raises(LaunchRefusedError) as error:
        launch_change(source, kernel, ())
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_header_whose_launch_means_something_else_in_another_unit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = PROJECTS["header, launch in it"]()
    header = project.files["kernel.h"].replace("64, 64>>>", "64, SIZE>>>")
    main = project.files["main.hip"]
    files = {"kernel.h": "#pragma once\n#ifndef SIZE\n#define SIZE 64\n#endif\n" + header, "main.hip": main}
    other = '#define SIZE 32\n#include "kernel.h"\nvoid more(int* a, int n) { run(a, a, n, n); }\n'
    Project({**files, "other.hip": other}, "kernel.h").written_to(tmp_path)
    target = find_build_target(("./program",), Path("kernel.h"), f"{COMMAND} main.hip other.hip -o program")
    source = target.read()
    (answer,) = wave_per_row.propose(source, source.kernel("sums"), ())
    assert isinstance(answer, Refusal) and "has different shapes in different units" in answer.reason


def test_headers_behind_a_link_are_read_in_the_cage(tmp_path, monkeypatch):
    """A folder beside the project that is a link, as in a checkout: the cage shows it under the name used to include it."""
    project = PROJECTS["header, launch in the source"]()
    files = project.files
    Project({"kernel.h": files["kernel.h"]}, "").written_to(tmp_path / "checkout" / "kernels")
    place = Project({"main.hip": files["main.hip"]}, "").written_to(tmp_path / "project" / "app")
    (tmp_path / "project" / "kernels").symlink_to(tmp_path / "checkout" / "kernels")
    monkeypatch.chdir(place)
    baseline = read(Path("main.hip"), (*shlex.split(COMMAND), "-I../kernels"), text=(files["main.hip"] + OWN).encode())
    assert (tmp_path / "checkout" / "kernels" / "kernel.h").resolve() in baseline.included
    candidate = baseline.text.replace(b"*a = 1;", b"*a = 1 + 1;")
    with CandidateReader(baseline, View().showing(readable=baseline.included)) as reader:
        change = reader.change(candidate)
    assert isinstance(change, KernelChange), change


def test_sources_that_change_together_are_restored_after_a_kill(tmp_path):
    """After the next start, either all files are old or all are new."""
    project = PROJECTS["sources, launch apart"]()
    folder = prepared(project, tmp_path)
    files = [folder / name for name in (project.source, *project.launching)]
    before = [path.read_bytes() for path in files]
    killed = Path(__file__).with_name("killed_in_place.py")
    mixed = []
    for number, expected in ((1, before), (2, before), (3, [b"// changed\n"] * 2)):
        done = subprocess.run([sys.executable, killed, folder, str(number), *files], check=False)
        assert done.returncode == -signal.SIGKILL
        mixed.append(len({path.read_bytes() == text for path, text in zip(files, before, strict=True)}) > 1)
        subprocess.run([sys.executable, killed, folder, "sweep"], check=True)
        assert [path.read_bytes() for path in files] == expected, number
    assert mixed == [False, True, False]
    assert not [name for name in os.listdir(folder) if name.endswith(".new")]
