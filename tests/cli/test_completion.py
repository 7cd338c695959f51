"""Completion as bash itself does it: commands, options, and file names wherever anything else is expected."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_command_for_completions(rocm_perf, shell):
    assert f"_ROCM_PERF_COMPLETE={shell}_complete" in rocm_perf("completion", shell).stdout


def test_bash_accepts_the_script_and_the_command_answers_it(rocm_perf):
    script = rocm_perf("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    words = {"_ROCM_PERF_COMPLETE": "bash_complete", "COMP_WORDS": "rocm-perf prof", "COMP_CWORD": "1"}
    assert rocm_perf(environment=words).stdout == "plain,profile\n"


@pytest.mark.parametrize("command", ["profile", "run", "isolate", "optimize", "prompt", "llm-optimize"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_program_is_completed_as_a_file(rocm_perf, command, shell):
    bash_and_zsh = {"COMP_WORDS": f"rocm-perf {command} ./my", "COMP_CWORD": "2" if shell == "bash" else "3"}
    fish = {"COMP_WORDS": f"rocm-perf {command} ./my", "COMP_CWORD": "./my"}
    words = {"_ROCM_PERF_COMPLETE": f"{shell}_complete", **(fish if shell == "fish" else bash_and_zsh)}
    assert rocm_perf(environment=words).stdout.split()[0].startswith("file")


@pytest.fixture
def bash(repository, tmp_path):
    """bash("rocm-perf pro", "file") types into `./dev shell`'s bash, then tab, until the terminal shows both words together."""
    (tmp_path / "my_app").touch()
    (tmp_path / "data_set.txt").touch()
    starter = tmp_path / "rocm-perf"
    starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocm_perf_lab "$@"\n')
    starter.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "ready> "}
    master, slave = pty.openpty()
    process = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], cwd=tmp_path, env=environment, stdin=slave,
                               stdout=slave, stderr=slave, start_new_session=True)  # fmt: skip
    os.close(slave)
    shown = ""

    def type_(line: str, expected: str) -> None:
        nonlocal shown
        begin = len(shown)
        os.write(master, line.encode())
        deadline = time.monotonic() + 60
        while expected not in shown[begin:] and time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                shown += os.read(master, 4096).decode(errors="replace")
        assert expected in shown[begin:], shown

    type_(f"source {repository}/env/shell.bash; echo sour''ced\n", "sourced")
    yield lambda line, expected: type_(f"\x15{line}\t", line + expected)
    process.kill()
    process.wait()
    os.close(master)


def test_bash_completes_commands_and_files(bash):
    bash("rocm-perf prof", "ile ")
    bash("rocm-perf profile ./my", "_app ")
    bash("rocm-perf profile --runs 2 my", "_app ")
    bash("rocm-perf run ./my_app --input da", "ta_set.txt ")
    bash("rocm-perf isolate --kernel k ./my", "_app ")
    bash("rocm-perf analyze da", "ta_set.txt ")
