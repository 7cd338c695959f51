"""Tells the isolate library, which is loaded into the program's processes, which of the program's kernels to capture.

The library does not support Python's regular expressions, so it sends questions through files in a folder
(native/tools/isolate/kernel_filter.h). Questions may come from untrusted code: they are answered with one byte per kernel, and
nothing else is read or written.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.kernel_pattern import fits

_BELL = "bell"
_MAX_BYTES = 1 << 26  # per question; the kernel names of the largest libraries take several megabytes


@contextlib.contextmanager
def answering(pattern: str, folder: Path) -> Iterator[None]:
    """Creates `folder` and answers questions in it until the context exits."""
    folder.mkdir()
    os.mkfifo(folder / _BELL)
    bell = os.open(folder / _BELL, os.O_RDWR | os.O_CLOEXEC)  # also for writing, so that reads never reach end of file
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
            with contextlib.suppress(OSError):  # the file belongs to the program, which may remove it at any time
                _reply(question, answer(pattern, _content(question)))


def answer(pattern: str, question: bytes) -> bytes:
    """One byte per kernel. question: the mangled and the demangled name of each kernel, with a zero byte after every name."""
    names = [os.fsdecode(name) for name in question.split(b"\0")[:-1]]
    pairs = zip(names[::2], names[1::2], strict=False)  # a program may write an incomplete question
    return b"".join(b"1" if fits(pattern, *pair) else b"0" for pair in pairs)


def _content(question: Path) -> bytes:
    descriptor = os.open(question, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        content = file.read(_MAX_BYTES)
    question.unlink()
    return content


def _reply(question: Path, text: bytes) -> None:
    unfinished = question.with_suffix(f".{os.urandom(8).hex()}")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
        file.write(text)
    unfinished.rename(question.with_suffix(".answer"))
