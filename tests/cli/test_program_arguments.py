"""Which words after a program belong to rocm-perf, and which to the program."""

import json
import shlex

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.cli.program_arguments import ProgramCommand, program_argument


def command(sources: int | None = 0) -> click.Command:
    options = [
        click.Option(["--json"], is_flag=True),
        click.Option(["--runs"], type=int),
        click.Option(["-q", "--quiet"], is_flag=True),
    ]
    return ProgramCommand("test", params=[*options, _argument()], callback=lambda **values: values, sources=sources)


def _argument() -> click.Argument:
    return program_argument(lambda: None).__click_params__[0]


def taken(*words: str, sources: int | None = 0) -> dict:
    """The values that the command receives."""
    return command(sources).main(list(words), standalone_mode=False)


OURS = [("--json",), ("--runs", "2"), ("--json", "-q"), ("--runs=2", "--json")]
NOT_OURS = [("-q",), ("2",), ("--json", "2"), ("--other",), ("--json", "--other"), ("--", "--json"), ("--runs",), ()]


@pytest.mark.parametrize("behind", OURS)
def test_nothing_but_options_of_rocm_perf_after_a_program(behind, capsys):
    found = taken("./app", *behind)
    assert found["program"] == ("./app",) and (found["json"] or found["runs"] == 2)
    assert f"rocm-perf: {shlex.join(behind)}, after the program, is taken as rocm-perf's" in capsys.readouterr().err


@pytest.mark.parametrize("behind", NOT_OURS)
def test_anything_else_belongs_to_the_program(behind):
    assert taken("./app", *behind) == {"program": ("./app", *behind), "json": False, "runs": None, "quiet": False}


@given(st.lists(st.sampled_from(["--json", "--runs", "2", "-q", "--other", "x", "--"])))
def test_two_dashes_resolve_the_ambiguity(words):
    assert taken("--", "./app", *words)["program"] == ("./app", *words)


def test_a_lone_short_option_is_ambiguous(capsys):
    assert taken("./app", "-q")["program"] == ("./app", "-q")
    assert "-q comes after the program and is passed to it" in capsys.readouterr().err
    taken("./app", "-x", "-q")
    assert capsys.readouterr().err == ""


def test_an_option_given_before_the_program_is_passed_on_after_it():
    assert taken("--runs", "1", "./app", "--runs", "2")["program"] == ("./app", "--runs", "2")


def test_an_option_named_in_the_programs_file_belongs_to_the_program(tmp_path, capsys):
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF\0usage: --json\0")
    assert taken(str(program), "--json")["program"] == (str(program), "--json")
    assert "--json comes after the program and is passed to it" in capsys.readouterr().err
    assert taken(str(program), "--runs", "2")["runs"] == 2


def test_a_quoted_program_includes_its_arguments():
    assert taken("./app --json 2", "-q")["quiet"] and taken("./app --json 2", "-q")["program"] == ("./app --json 2",)
    with pytest.raises(Exception, match="3 follows the quoted program"):
        taken("./app 2", "3")


def test_shell_syntax_is_reported(capsys):
    taken("./app 2 | grep PASS")
    assert "| is an argument of ./app here; for a shell write sh -c './app 2 | grep PASS'" in capsys.readouterr().err


@pytest.mark.parametrize("program", [["./app"], ["./app 5"], []])
def test_a_source_before_the_program(program):
    found = taken("app.cu", *program, "--json", sources=None)
    assert found["program"] == ("app.cu", *program) and found["json"]


WRITTEN_FORMS = [("--json",), ("--quiet",), ("--no-rocprof", "--quiet")]


@pytest.mark.parametrize("options", WRITTEN_FORMS)
def test_the_written_forms_of_profile(rocm_perf, testbed, options):
    done = rocm_perf("profile", testbed("vcopy"), *options)
    assert done.returncode == 0, done.stderr
    runtime = json.loads(done.stdout)["profile"]["runtime_ms"] if options == ("--json",) else float(done.stdout)
    assert 0 < runtime < 1


def test_the_written_form_of_llm_optimize(rocm_perf, repository, tmp_path, hipcc):
    """The model comes from the environment; it proposes nothing that could be judged."""
    (tmp_path / "app.cu").write_text((repository / "tests" / "llm" / "program.hip").read_text())
    model = {"ROCM_PERF_PROVIDER": "command", "ROCM_PERF_MODEL": "sh -c 'cat >/dev/null; echo no code'"}
    done = rocm_perf("llm-optimize", "app.cu", "./app", "--auto-approve", environment=model)
    assert "--auto-approve, after the program, is taken as rocm-perf's" in done.stderr
    assert done.returncode == 49 and "answers could be judged" in done.stderr, done.stderr
