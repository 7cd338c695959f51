"""How words on the command line become a source, a program and its arguments; misplaced words are reported before any build."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.optimize.build_target import find_build_target, program_of


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it's a.hip").write_text("__global__ void k() {}")
    (tmp_path / "it's a").touch()


@pytest.mark.parametrize(
    ("words", "program", "arguments"),
    [
        (["it's a"], "it's a", []),
        (["it's a", "1", "b c"], "it's a", ["1", "b c"]),
        (["it's a.hip"], "it's a", []),
        (["it's a.hip", "it's a"], "it's a", []),
        (["it's a.hip", "./other 1 'b c'"], "other", ["1", "b c"]),
        (["it's a.hip", "./other", "1", "b c"], "other", ["1", "b c"]),
        (["./other 1"], "other", ["1"]),
    ],
)
def test_words(words, program, arguments):
    found = program_of(words, None)
    assert (found[0].name, found[1]) == (program, arguments)
    if not words[0].startswith("./other"):
        build_target = find_build_target(words, None, None)
        assert build_target.source.name == "it's a.hip" and (build_target.name, list(build_target.arguments)) == (
            program,
            arguments,
        )


@pytest.mark.parametrize(
    ("build", "left_out"),
    [
        ("hipcc 'it'\"'\"'s a.hip' -o \"it's a\"", ()),
        ('touch x; hipcc "it\'s a.hip" -o "it\'s a" && strip -s "it\'s a" > log', ("touch x", "strip -s 'it'\"'\"'s a'")),
    ],
)
def test_commands_of_a_build_that_are_not_done_are_known(build, left_out):
    assert find_build_target(["it's a.hip"], None, build).build.left_out == left_out


@pytest.mark.parametrize("words", [["it's a.hip", "--kernel", "x"], ["it's a.hip", "./other 1", "--json"], ["./o 1", "2"]])
def test_options_in_the_wrong_place(words):
    with pytest.raises(UsageError):
        program_of(words, None)


@pytest.mark.parametrize("command", [["optimize", "-y"], ["prompt"], ["llm-optimize", "-m", "x", "-y"], ["gate", "it's a.hip"]])
def test_errors_are_reported_before_anything_is_built(rocm_perf, command):
    before = sorted(Path().iterdir())
    done = rocm_perf(*command[:1], "--kernel", "(", *command[1:], "it's a.hip")
    assert done.returncode == 2 and "'(' is not a regular expression" in done.stderr
    if command[0] != "prompt":
        done = rocm_perf(*command[:1], "--check", "./none", *command[1:], "it's a.hip")
        assert done.returncode == 66 and "./none does not exist" in done.stderr
    assert sorted(Path().iterdir()) == before


def test_the_history_of_a_program_with_spaces(rocm_perf, tmp_path):
    (tmp_path / "it's a.rocm-perf-optimize" / "run-0001").mkdir(parents=True)
    (tmp_path / "it's a.rocm-perf-optimize" / "run-0001" / "journal.jsonl").touch()
    for words in (["it's a", "1"], ["it's a.hip"], ["it's a.hip", "it's a"]):
        done = rocm_perf("optimize", "--history", *words)
        assert done.returncode == 0 and "run-0001  not begun" in done.stdout, done.stderr


def test_an_option_after_the_program_is_noted(rocm_perf):
    done = rocm_perf("optimize", "-y", "./none", "1", "--json")
    assert "--json comes after the program" in done.stderr and done.returncode == 66


@pytest.mark.parametrize("words, source", [(("/usr/bin/python3", "k.py"), None), (("./app",), Path("k.py"))])
def test_python_programs_are_referred_to_the_commands_for_them(words: tuple[str, ...], source: Path | None):
    with pytest.raises(UsageError, match="is Python") as error:
        find_build_target(words, source, None)
    assert "--triton SCRIPT::KERNEL" in error.value.hint
