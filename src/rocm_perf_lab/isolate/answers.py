"""Tells the isolate library, in the program's processes, which of its kernels are wanted.

The library cannot read Python's regular expressions, so it asks, by files in a folder (native/tools/isolate/wanted.h).
Who asks may be code that nobody trusts: it gets a byte for each name that it sent, and nothing else is read or written.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.kernel_pattern import fits

_BELL = "bell"
_MOST_BYTES = 1 << 26  # of a question; the largest libraries have some megabytes of names


@contextlib.contextmanager
def answering(pattern: str, folder: Path) -> Iterator[None]:
    """Answers in `folder`, which it makes, until it is left."""
    folder.mkdir()
    os.mkfifo(folder / _BELL)
    bell = os.open(folder / _BELL, os.O_RDWR | os.O_CLOEXEC)  # also for writing: then there is never an end of file
    over = threading.Event()
    thread = threading.Thread(target=_serve, args=(pattern, folder, bell, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        os.write(bell, b"!")
        thread.join()
        os.close(bell)


def _serve(pattern: str, folder: Path, bell: int, over: threading.Event) -> None:
    while os.read(bell, 1 << 12) and not over.is_set():
        for question in folder.glob("*.question"):
            with contextlib.suppress(OSError):  # the program's, and gone if it likes
                _reply(question, answer(pattern, _content(question)))


def answer(pattern: str, question: bytes) -> bytes:
    """A byte for each kernel. question: of each its mangled and demangled name, each ended by a zero byte."""
    names = [os.fsdecode(name) for name in question.split(b"\0")[:-1]]
    return b"".join(b"1" if fits(pattern, *pair) else b"0" for pair in zip(names[::2], names[1::2], strict=False))


def _content(question: Path) -> bytes:
    descriptor = os.open(question, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES)
    question.unlink()
    return content


def _reply(question: Path, text: bytes) -> None:
    unfinished = question.with_suffix(f".{os.urandom(8).hex()}")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
        file.write(text)
    unfinished.rename(question.with_suffix(".answer"))
