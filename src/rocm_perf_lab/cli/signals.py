"""A signal that asks a command to end does so with 128 + its number, wherever in the command it arrives."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

_AGAIN = 0.01  # seconds


def end_on_signals() -> None:
    """SIGTERM and SIGHUP raise SystemExit as SIGINT raises KeyboardInterrupt, so that everything is put in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _exit)
    sys.unraisablehook = _send_again


def leave_signals_to_the_system() -> None:
    """While the interpreter shuts down it runs no handlers: who is asked to end then would end with success."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _send_again(lost: Any) -> None:
    """Python drops what is raised in a destructor or in a weak reference's callback, also by a handler that runs there.

    The interpreter waits for the timer before it ends.
    """
    number = _signal_of(lost.exc_value)
    if number is None:
        sys.__unraisablehook__(lost)
    else:
        threading.Timer(_AGAIN, os.kill, (os.getpid(), number)).start()


def _signal_of(error: BaseException | None) -> int | None:
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128:
        return error.code - 128
    return None
