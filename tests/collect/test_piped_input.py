"""Every run reads what came through the pipe, and nothing is consumed that no run has read."""

import contextlib
import os
import subprocess
import sys
import threading

import pytest

from rocm_perf_lab.collect.piped_input import PipedInput
from rocm_perf_lab.errors import UsageError


@pytest.fixture
def piped():
    """piped(data): PipedInput for a pipe that data is written to; its source; a function that closes the other end."""
    open_ends = []

    def make(data: bytes, *, close: bool = True):
        source, sink = os.pipe()
        open_ends.append(source)

        def write() -> None:
            with contextlib.suppress(BrokenPipeError), open(sink, "wb", closefd=close) as stream:
                stream.write(data)

        threading.Thread(target=write, daemon=True).start()
        return PipedInput(source), source

    yield make
    for descriptor in open_ends:
        os.close(descriptor)


def run(piped: PipedInput, *words: str) -> bytes:
    with piped.for_a_run() as stdin:
        return subprocess.run(words, stdin=stdin, capture_output=True, timeout=60).stdout


def test_every_run_reads_all_of_an_input_larger_than_the_pipe(piped):
    data = os.urandom(700_001)
    shared, _ = piped(data)
    assert [run(shared, "cat") for _ in range(3)] == [data] * 3


def test_input_that_no_run_has_read_is_left_in_the_pipe(piped):
    shared, source = piped(b"one\ntwo\nthree\n")
    assert run(shared, "true") == b""
    assert [run(shared, "sh", "-c", "read x; echo $x") for _ in range(2)] == [b"one\n"] * 2
    assert os.read(source, 100) == b"two\nthree\n"


def test_a_later_run_may_read_further(piped):
    shared, _ = piped(b"0123456789" * 10_000)
    sizes = [7, 99_000, 3, 100_000]
    assert [len(run(shared, "head", "-c", str(size))) for size in sizes] == sizes


def test_concurrent_runs_read_the_same_input(piped):
    data = os.urandom(300_000)
    shared, _ = piped(data)
    found = []
    threads = [threading.Thread(target=lambda: found.append(run(shared, "cat"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [data] * 4


def test_input_that_another_run_reads_just_before_the_end_is_not_lost(piped, monkeypatch):
    shared, _ = piped(b"line\n")
    kept, others = shared.stored, []

    def taken_by_another_right_after(place: int) -> bytes:
        part = kept(place)
        if not others:
            others.append(None)  # it looks here, too
            others.append(run(shared, "cat"))
        return part

    monkeypatch.setattr(shared, "stored", taken_by_another_right_after)
    assert run(shared, "cat") == b"line\n" == others[1]


def test_a_pipe_that_is_never_closed_holds_nothing_up(piped):
    shared, _ = piped(b"line\n", close=False)
    assert run(shared, "sh", "-c", "read x; echo $x") == b"line\n"
    assert run(shared, "true") == b""


def test_too_much_input_is_an_error(piped, monkeypatch):
    monkeypatch.setattr("rocm_perf_lab.collect.piped_input._MAX_STORED_BYTES", 100_000)
    shared, _ = piped(bytes(300_000))
    with pytest.raises(UsageError, match="read from the pipe"):
        run(shared, "cat")


def test_execute_passes_the_input_to_every_run():
    code = (
        "import os, sys; from rocm_perf_lab.collect.command import resolve; from rocm_perf_lab.collect.execute import execute\n"
        "for _ in range(2): execute(resolve(['wc', '-c']), os.environ, stdout=None)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"x" * 100_000, capture_output=True, timeout=60)
    assert done.stdout.split() == [b"100000"] * 2, done.stderr
