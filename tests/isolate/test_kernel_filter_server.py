"""The server that says which kernels are wanted: by both names, for any bytes, and for any number of simultaneous requests."""

from __future__ import annotations

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.isolate.kernel_filter_server import answer, answering

NAMES = st.binary(max_size=20).map(lambda name: name.replace(b"\0", b""))


@given(st.lists(st.tuples(NAMES, NAMES)))
def test_the_answer_has_a_byte_for_each_kernel(kernels):
    question = b"".join(symbol + b"\0" + name + b"\0" for symbol, name in kernels)
    wanted = [b"1" if b"a" in symbol or b"a" in name else b"0" for symbol, name in kernels]
    assert answer("a", question) == b"".join(wanted)


def test_many_processes_may_ask_at_once(tmp_path):
    folder = tmp_path / "ask"
    with answering("^k[0-4]$", folder):
        threads = [threading.Thread(target=ask, args=(folder, number)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(folder / f"{number}.answer").read_bytes() for number in range(10)] == [b"1"] * 5 + [b"0"] * 5


def ask(folder, number):
    (folder / f"{number}.part").write_bytes(b"_Z%d\0k%d\0" % (number, number))
    (folder / f"{number}.part").rename(folder / f"{number}.question")
    with open(folder / "bell", "wb", buffering=0) as bell:
        bell.write(b"?")
    deadline = time.monotonic() + 20
    while not (folder / f"{number}.answer").exists() and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.mark.parametrize("made", ["link", "folder", "fifo", "short"])
def test_an_invalid_question_does_no_harm(tmp_path, made):
    folder, secret = tmp_path / "ask", tmp_path / "secret"
    secret.write_text("k\0k\0")
    with answering("k", folder):
        question = folder / "bad.question"
        {"link": lambda: question.symlink_to(secret), "folder": question.mkdir, "fifo": lambda: os.mkfifo(question),
         "short": lambda: question.write_bytes(b"k")}[made]()  # fmt: skip
        ask(folder, 1)
    assert (folder / "1.answer").read_bytes() == b"1" and secret.read_text() == "k\0k\0"
    assert not (folder / "bad.answer").exists() or (folder / "bad.answer").read_bytes() == b""
