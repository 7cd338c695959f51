import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.errors import MissingInputError, UsageError

# What a command line can hold: no NUL.
words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=20)


@given(st.lists(words, min_size=1))
def test_one_quoted_string_means_the_same_as_separate_words(arguments):
    separate = ["/bin/echo", *arguments]
    assert resolve([shlex.join(separate)]).argv == resolve(separate).argv == tuple(separate)


def test_a_file_with_blanks_in_its_name_is_a_program_not_a_command_line(tmp_path):
    program = tmp_path / "my app"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert resolve([str(program)]).argv == (str(program),)


def test_argv0_is_kept_and_the_executable_is_found_on_path(monkeypatch, tmp_path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = resolve(["tool", "-x"])
    assert (command.argv, command.executable, command.program) == (("tool", "-x"), program, "tool")


def test_no_shell_is_involved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve(["/bin/echo $HOME; touch x"]).argv == ("/bin/echo", "$HOME;", "touch", "x")


@pytest.mark.parametrize("nothing", [[], [""], ["  "], ["''"]])
def test_an_empty_command_is_refused(nothing):
    with pytest.raises((UsageError, MissingInputError)):
        resolve(nothing)
