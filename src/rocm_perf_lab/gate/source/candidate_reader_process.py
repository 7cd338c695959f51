"""The process that reads candidates: `python -m rocm_perf_lab.gate.source.candidate_reader_process`, started in the cage.

Standard input: one JSON object per line, first the baseline and then candidates. The first is followed by the content of the
precompiled includes that it describes. Each object gets a one-line answer.
Each candidate is read in a fork of the process that has read the baseline, so that headers are read only once and any damage
that a candidate does to Clang ends with the fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from rocm_perf_lab.errors import RocmPerfError
from rocm_perf_lab.gate.source.candidate_diff import read_change
from rocm_perf_lab.gate.source.other_files_diff import ChangeNotAllowedError
from rocm_perf_lab.hip_source import HipSource, parsing, read


def main() -> None:
    # Clang's own threads would not survive the fork.
    os.environ["LIBCLANG_NOTHREADS"] = "1"
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    first = json.loads(requests.readline())
    for described in first["includes"]:
        content = requests.read(described["bytes"])
        with contextlib.suppress(OSError):  # without them, the headers are read again
            parsing.adopt_includes(described, content)
    source = _source(first, first["text"])
    _write_answer(answers, _first_answer(source))
    for line in requests:
        _write_answer(answers, _read_in_fork(source, first, json.loads(line)))


def _source(first: dict[str, Any], text: str) -> HipSource:
    path, main, folder = (Path(first[name]) for name in ("path", "main", "folder"))
    return read(path, first["command"], folder, text.encode("latin-1"), main)


def _first_answer(source: HipSource) -> dict[str, Any]:
    """Read the baseline and precompile its includes, for all forks."""
    try:
        source.kernels  # noqa: B018
    except RocmPerfError as error:
        return {"error": error.problem}
    return {"ready": True}


def _read_in_fork(source: HipSource, first: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        # Both signals end the process even while it is inside Clang. The main limit is on processor time, since a busy machine
        # is not the candidate's fault; wall time is limited too, since the wait has to end at some point.
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])
        signal.alarm(request["wall_seconds"])
        with os.fdopen(sending, "wb") as answer:
            candidate = source.with_text(request["text"].encode("latin-1"))
            _write_answer(answer, _answer(source, candidate, request["kernel"], request["others"]))
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as answer:
        line = answer.readline()
    _, status = os.waitpid(child, 0)
    if line.endswith(b"\n"):
        answered: dict[str, Any] = json.loads(line)
        return answered
    return {"refused": _end_in_words(status, request)}


def _answer(baseline: HipSource, candidate: HipSource, kernel: str | None, other_files: list[list[str]]) -> dict[str, Any]:
    """The answer for one candidate. other_files: for each, its path and the baseline's and the candidate's text."""
    texts = {Path(path): (before.encode("latin-1"), after.encode("latin-1")) for path, before, after in other_files}
    try:
        change = read_change(baseline, candidate, kernel, texts)
    except ChangeNotAllowedError as refusal:
        return {"refused": str(refusal)}
    except RocmPerfError as error:
        return {"refused": f"it cannot be read: {_without_path(error.problem, candidate)}"}
    except (RecursionError, MemoryError) as error:
        return {"refused": f"it cannot be read: it is too large or too deep ({type(error).__name__})"}
    value = asdict(change)
    value |= {name: value[name].decode("latin-1") for name in ("head", "body")}
    for launch in value["launches"]:
        launch["file"] = None if launch["file"] is None else str(launch["file"])
    return {"change": value | {"functions": [text.decode("latin-1") for text in change.functions]}}


def _without_path(complaint: str, candidate: HipSource) -> str:
    """The complaint without the file's path: the candidate is read under the baseline's path."""
    own = f"{candidate.path}:"
    return f"line {complaint.removeprefix(own)}" if complaint.startswith(own) else complaint


def _end_in_words(status: int, request: dict[str, Any]) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGPROF:
            return f"it cannot be read: Clang did not end within {request['seconds']} s of processor time"
        if number == signal.SIGALRM:
            return f"it cannot be read: Clang did not end within {request['wall_seconds']} s"
        crashed = f"Clang crashed on it ({signal.Signals(number).name})"
        return f"it cannot be read: {crashed}; it may be nested too deeply, or trigger a bug in Clang"
    return "it cannot be read: Clang failed on it"


def _write_answer(stream: BinaryIO, answer: dict[str, Any]) -> None:
    stream.write(json.dumps(answer).encode() + b"\n")
    stream.flush()


if __name__ == "__main__":
    main()
