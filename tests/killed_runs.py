"""Runs that are killed before a step that makes something durable, each in a separate process."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Sequence


def killed_before(deadline: int, run: Callable[[], object], steps: Sequence[str]) -> int:
    """run() in a child that sends itself SIGKILL before the deadline-th call of the functions of os named in steps.

    Returns -9, or the number of such calls if it finished.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads of the parent: hence the alarm below
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # libraries of the parent have threads, and the child could wait for their locks
        count = 0

        def counted(function):
            def call(*arguments, **options):
                nonlocal count
                count += 1
                if count == deadline:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **options)

            return call

        try:
            for name in steps:
                setattr(os, name, counted(getattr(os, name)))
            run()
            os.write(writer, b"%d" % count)
        finally:
            os._exit(0)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    return -9 if os.WIFSIGNALED(status) else int(text)
