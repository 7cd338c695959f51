"""What a script reports about its launches, and what it is asked and shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.triton_kernel import launching_script
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription, LaunchingScript, launching
from rocm_perf_lab.triton_launches import ChangedFile, ScriptKernel

ARGUMENTS = {
    "x": {"kind": "array", "dtype": "float32"},
    "n": {"kind": "number", "value": 2},
    "one": {"kind": "number", "value": 1},
    "none": {"kind": "number", "value": 0},
    "below": {"kind": "number", "value": -7},
    "flag": {"kind": "number", "value": True},
    "factor": {"kind": "number", "value": 2.5},
    "BLOCK": {"kind": "number", "value": 64},
    "default": {"kind": "number", "value": 9},
}
LAUNCH = {
    "event": "launch",
    "key": {"rows": 64},
    "arguments": ARGUMENTS,
    "parameters": [*ARGUMENTS][:-1],
    "constants": ["BLOCK"],
}
NAME, OTHER = "a" * 64, "b" * 64


class Served:
    """A script's process that gives these answers in turn."""

    def __init__(self, *answers: dict):
        self.answers, self.asked, self.timeouts = list(answers), [], []

    def receive(self, timeout):
        self.timeouts.append(timeout)
        return self.answers.pop(0)

    def ask(self, timeout, **request):
        self.asked.append(request)
        return self.receive(timeout)

    def send(self, **request):
        self.asked.append(request)

    def output_tail(self):
        return "boom"


@pytest.fixture
def script(tmp_path):
    """script(answers, ..., is_candidate=False) -> (the script, its process)."""
    for name in ("folder", "files"):
        (tmp_path / name).mkdir()

    def make(*answers: dict, is_candidate: bool = False):
        served = Served(*answers)
        return LaunchingScript(served, tmp_path / "folder", tmp_path / "files", is_candidate, 7.5), served

    return make


def test_a_launch_is_known_by_its_key_and_its_arguments(script):
    following, served = script(LAUNCH, {"event": "end", "status": 3})
    launched = following.next()
    assert launched == LaunchDescription(LAUNCH) and launched.key == {"rows": 64} and launched.types == {"x": "float32"}
    assert launched.numbers == {"n": 2}  # an integer larger than 1 that is passed at the launch
    assert following.next() == 3 and served.timeouts == [7.5, 7.5]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"event": "end"},
        {"event": "end", "status": "soon"},
        {"event": "end", "status": None},
        {"event": "launch"},
        *({**LAUNCH, name: None} for name in ("key", "arguments", "parameters", "constants")),
        {**LAUNCH, "arguments": {"x": {}}},
        {**LAUNCH, "arguments": {"x": {"kind": "array"}}},
    ],
)
def test_an_invalid_description_of_a_launch_is_refused(script, answer):
    with pytest.raises(SourceError, match="does not have the expected form"):
        script(answer)[0].next()


RECORD = {
    "event": "recorded", "name": "k", "code": NAME, "grid": [1, 1, 1], "threads": 64, "shared": 0, "scratch_bytes": [],
    "arguments": [], "buffers": [{"names": ["x"], "size": 4, "shift": 0, "contents": OTHER}],
}  # fmt: skip


@pytest.mark.parametrize("is_candidate", [False, True])
def test_memory_belongs_to_the_baseline(script, tmp_path, is_candidate):
    for name in (NAME, OTHER):
        (tmp_path / "folder" / name).write_text(name[0])
    following, served = script(dict(RECORD), is_candidate=is_candidate)
    recorded = following.record({"n": 7})
    assert served.asked == [{"do": "record", "numbers": {"n": 7}, "folder": str(tmp_path / "folder")}]
    assert recorded.name == "k" and (tmp_path / "files" / NAME).read_text() == "a"
    assert (tmp_path / "files" / OTHER).exists() == (not is_candidate)


def test_a_launch_that_does_not_compile_says_so(script):
    following, served = script({"error": "n = 7 does not compile"}, {"error": "no memory"})
    with pytest.raises(SourceError, match="^n = 7 does not compile$"):
        following.record({"n": 7})
    with pytest.raises(SourceError, match="^no memory$"):
        following.interpret({}, {})


def test_the_interpreter_gets_the_contents_and_its_results_are_read(script, tmp_path):
    (tmp_path / "files" / NAME).write_text("before")
    (tmp_path / "folder" / OTHER).write_text("left")
    following, served = script({"outputs": {"x": OTHER}}, {"obstacle": "it calls a library"}, {"outputs": {"x": "../x"}})
    assert following.interpret({"n": 7}, {"x": NAME}) == {"x": tmp_path / "files" / OTHER}
    assert (tmp_path / "folder" / NAME).read_text() == "before" and (tmp_path / "files" / OTHER).read_text() == "left"
    assert served.asked == [
        {"do": "interpret", "seconds": 30, "numbers": {"n": 7}, "contents": {"x": NAME}, "folder": str(tmp_path / "folder")}
    ]
    assert following.interpret({}, {}) == "it calls a library"
    with pytest.raises(SourceError, match="names a file that is none of its results"):
        following.interpret({}, {})


def test_the_script_continues_with_the_values_that_it_has(script):
    following, served = script()
    following.go_on()
    assert served.asked == [{"do": "continue", "values": None}] and following.output_tail() == "boom"


@pytest.fixture
def started(monkeypatch, tmp_path):
    """started(view, kernel) -> (command, environment, output file, the cage's view and limits if there is one)."""

    def start(view: View | None, **changed):
        caged, process = [], []

        class Process(Served):
            def __init__(self, command, environment, stderr):
                super().__init__()
                process.append((command, environment, stderr))

            def __enter__(self):
                return self

            def __exit__(self, *_):
                process.append("ended")

        def within(command, folder, view, limits):
            caged.append((folder, view, limits))
            return ["caged", *command]

        monkeypatch.setattr(launching_script, "ServedScript", Process)
        monkeypatch.setattr(launching_script, "cage", SimpleNamespace(within=within))
        monkeypatch.setattr(launching_script, "environment_of", lambda base, key: {**base, "KEY": ",".join(key)})
        monkeypatch.setattr(
            launching_script.os, "environ", {"TRITON_DEBUG": "1", "TRITON_HOME": "/t", "TRITON_CACHE_DIR": "/c"}
        )
        device = Device(False, "gfx942", "software gfx942", {"DEVICE": "gfx942"}, (), ())
        kernel = ScriptKernel(tmp_path / "train" / "train.py", "k", ("4",), tmp_path / "venv" / "bin" / "python", **changed)
        with launching(kernel, device, tmp_path, tmp_path / "files", ("rows",), view, 7.5) as script:
            (of_process,) = process
            assert isinstance(script, LaunchingScript)
        assert process[-1] == "ended"
        return of_process, caged, script

    return start


def test_the_baseline_runs_without_a_cage(started, tmp_path):
    (command, environment, stderr), caged, script = started(None)
    assert not caged and command[1:] == ["-m", "rocm_perf_triton.served", "k", str(tmp_path / "train" / "train.py"), "4"]
    assert environment["KEY"] == "rows" and stderr == tmp_path / "baseline.stderr" and (tmp_path / "baseline").is_dir()
    assert not script._is_candidate


def test_the_candidate_runs_in_a_cage_that_shows_what_it_needs(started, tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    asked = View((Path("/data"),), (Path("/out"),), keep_env=("SIZE",), trusted=True)
    changed = ChangedFile(tmp_path / "train" / "train.py", tmp_path / "changed.py")
    (command, _, stderr), [(folder, view, limits)], script = started(asked, changed_file=changed)
    assert command[0] == "caged" and stderr == tmp_path / "candidate.stderr" and folder == Path.cwd()
    needed = (tmp_path / "train", tmp_path, tmp_path / "venv" / "pyvenv.cfg", tmp_path / "changed.py")
    assert view.readable == (Path("/data"), *needed) and view.writable == (Path("/out"), tmp_path / "candidate")
    assert view.keep_env == ("SIZE", "TRITON_DEBUG", "PYTHONPATH", "ROCM_PERF_TRITON_KEY") and view.trusted == asked.trusted
    assert limits.seconds == 600 and script._is_candidate
