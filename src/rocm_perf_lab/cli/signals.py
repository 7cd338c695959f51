"""Makes a command exit with code 128 + the signal's number if a signal ends it, no matter when the signal arrives."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

_RESEND_SECONDS = 0.01  # seconds
_received: list[int] = []
_is_sending = False


def end_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise SystemExit, as SIGINT raises KeyboardInterrupt, so that everything is cleaned up."""
    for number, end in {signal.SIGINT: _interrupt, signal.SIGTERM: _exit, signal.SIGHUP: _exit}.items():
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored under nohup, and in jobs that a shell starts in the background
            signal.signal(number, end)
    sys.unraisablehook = _send_again


def received() -> int | None:
    """The first received signal that ends this process; None if there was none.

    The exception that the signal's handler raised does not show this reliably: libraries can turn it into an error of their
    own, such as a failed import.
    """
    return _received[0] if _received else None


def leave_signals_to_the_system() -> None:
    """Restore the default actions: the interpreter runs no handlers while it shuts down, so it would ignore a signal at that
    point and report success.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, _frame: object) -> None:
    _act(number, KeyboardInterrupt())


def _exit(number: int, _frame: object) -> None:
    _act(number, SystemExit(128 + number))


def _act(number: int, end: BaseException) -> None:
    _received.append(number)
    if not _is_sending:
        raise end
    _send_later(number)  # exceptions raised within _send_again() are dropped as well


def _send_again(lost: Any) -> None:
    """Send the signal again: Python drops exceptions raised in destructors and in callbacks of weak references, even if a
    signal handler raised them.
    """
    global _is_sending
    number = _signal_of(lost.exc_value)
    if number is None:
        sys.__unraisablehook__(lost)
        return
    _is_sending = True
    try:
        _send_later(number)
    finally:
        _is_sending = False  # no handler runs between this and the return


def _send_later(number: int) -> None:
    """Send the signal soon (on a busy machine, perhaps before this returns). At exit, the interpreter waits for the timer."""
    threading.Timer(_RESEND_SECONDS, os.kill, (os.getpid(), number)).start()


def _signal_of(error: BaseException | None) -> int | None:
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128:
        return error.code - 128
    return None
