import contextlib
import os
import subprocess
import time

import pytest

from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.errors import ProgramTimeoutError


def output_of(words, tmp_path, stdin):
    """Standard output of a run from a process whose standard input is `stdin`."""
    saved = os.dup(0)
    try:
        os.dup2(stdin.fileno(), 0)
        with open(tmp_path / "out", "w+b") as out:
            execute(resolve(words), os.environ, stdout=out)
            out.seek(0)
            return out.read()
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_each_run_reads_a_redirected_file_from_its_start(tmp_path):
    (tmp_path / "in").write_text("input")
    with open(tmp_path / "in") as stdin:
        assert [output_of(["cat"], tmp_path, stdin) for _ in range(2)] == [b"input", b"input"]


def test_each_run_reads_a_pipe_from_its_start_and_leaves_what_it_does_not_read(tmp_path):
    with subprocess.Popen(["printf", "one\\ntwo\\n"], stdout=subprocess.PIPE) as source:
        line = ["sh", "-c", "read x; echo $x"]
        assert [output_of(line, tmp_path, source.stdout) for _ in range(2)] == [b"one\n", b"one\n"]
        assert source.stdout.read() == b"two\n"


def test_arguments_arrive_unchanged(tmp_path):
    with open(os.devnull) as stdin:
        out = output_of(["printf", "%s|", "a b", "$HOME", "*", "", "'"], tmp_path, stdin)
    assert out == b"a b|$HOME|*||'|"


@pytest.mark.parametrize("leader_ends, outcome", [("exit 0", None), ("exec sleep 60", ProgramTimeoutError)])
def test_no_process_of_the_group_survives(tmp_path, process_is_gone, leader_ends, outcome):
    pid_file = tmp_path / "pid"
    child = f"sh -c 'echo $$ > {pid_file}; exec sleep 60' &"
    script = f"{child} while [ ! -s {pid_file} ]; do sleep 0.01; done; {leader_ends}"
    with pytest.raises(outcome) if outcome else contextlib.nullcontext():
        execute(resolve(["sh", "-c", script]), os.environ, stdout=subprocess.DEVNULL, timeout=2)
    deadline = time.monotonic() + 10
    while not process_is_gone(int(pid_file.read_text())):
        assert time.monotonic() < deadline
