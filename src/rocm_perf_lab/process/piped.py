"""The standard streams of processes that were started with pipes for them."""

from __future__ import annotations

from typing import TypeVar

Stream = TypeVar("Stream")


def piped(stream: Stream | None) -> Stream:
    """Return `process.stdin`, `.stdout` or `.stderr`. Raises ValueError if the process was started without a pipe for it."""
    if stream is None:
        raise ValueError("the process was started without a pipe for this stream")
    return stream
