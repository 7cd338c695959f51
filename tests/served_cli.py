"""The command line, in processes forked from one that has imported it, so that thousands of commands need not load it each
time.

A small client (served_cli.c) represents such a process: it passes on its arguments, folder, environment and standard streams,
and ends as the process does. If the client is killed, the process is, too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pydantic

import rocm_perf_lab

CLIENT = Path(__file__).with_suffix(".c")
# Loaded before any command runs: the project's modules except those for another Python and for the server that few commands
# start, and what they import on demand.
_NOT_LOADED = ("rocm_perf_lab.mcp", "rocm_perf_lab.triton_plugin")
_OF_OTHERS = ("clang.cindex", "cloudpickle", "elftools.elf.elffile", "msgpack", "multiprocessing.pool", "pyarrow.parquet")
# A process with threads cannot be forked.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_STREAMS = 3
FIRST = "SERVED_FIRST"  # an environment variable with Python code that runs before the command


@dataclass(frozen=True)
class Request:
    """A request from a client."""

    streams: list[int]
    folder: bytes
    arguments: list[bytes]
    environment: dict[bytes, bytes]


@contextlib.contextmanager
def serving(client: Path) -> Iterator[list[str]]:
    """The words of a command to which the command line's arguments are appended. client: the compiled client."""
    with tempfile.TemporaryDirectory(prefix="served-") as folder:
        address = f"{folder}/socket"
        words = [sys.executable, "-P", __file__, address]
        with subprocess.Popen(words, env=os.environ | _ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None and server.stdin is not None
            server.stdout.readline()  # it is listening
            yield [str(client), address]
            server.stdin.close()


def of_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python reads when it starts: no server can take them into account later."""
    names = ("PYTHON", "LC_", "LANG", "LD_", "NUMBA")
    return {name: value for name, value in environment.items() if name.startswith(names)}


def _request(connection: socket.socket) -> Request:
    header, streams, *_ = socket.recv_fds(connection, 4, _STREAMS)
    (size,) = struct.unpack("=I", header)
    data = bytearray()
    while len(data) < size:
        data += connection.recv(size - len(data))
    folder, number, *words = bytes(data).split(b"\0")[:-1]
    count = int(number)
    return Request(streams, folder, words[:count], dict(word.split(b"=", 1) for word in words[count:]))


def _become(request: Request) -> None:
    """Does what the request says, in a child."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.folder)
    tempfile.tempdir = None  # as found by the loaded modules
    os.environb.clear()
    os.environb.update(request.environment)
    sys.argv[1:] = map(os.fsdecode, request.arguments)
    sys.path.insert(0, os.getcwd())  # as `python -m` does


def _serve(listener: socket.socket) -> Request | None:
    """Returns in each child with its request, and in the server when its standard input ends."""
    clients: dict[int, socket.socket] = {}  # keyed by the file descriptor of the process that serves it
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == sys.stdin.fileno():
                    return None
                if key.fd == listener.fileno():
                    connection, _ = listener.accept()
                    request = _request(connection)
                    child = os.fork()
                    if child == 0:
                        for each in (connection, listener, *clients.values()):
                            each.close()
                        return request
                    for stream in request.streams:
                        os.close(stream)
                    process = os.pidfd_open(child)
                    clients[process] = connection
                    selector.register(process, selectors.EVENT_READ, child)
                    selector.register(connection, selectors.EVENT_READ, child)
                elif key.fd in clients:
                    connection = clients.pop(key.fd)
                    selector.unregister(key.fd)
                    selector.unregister(connection)
                    os.close(key.fd)
                    _, status = os.waitpid(key.data, 0)
                    with contextlib.suppress(OSError), connection:
                        connection.sendall(struct.pack("=i", status))
                else:  # the client is gone
                    selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)


def _load() -> None:
    for module in pkgutil.walk_packages(rocm_perf_lab.__path__, "rocm_perf_lab."):
        if not module.name.startswith(_NOT_LOADED) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _OF_OTHERS:
        importlib.import_module(name)
    for model in _models(pydantic.BaseModel):
        model.model_rebuild()
    assert len(os.listdir("/proc/self/task")) == 1
    gc.collect()
    gc.freeze()


def _models(base: type[pydantic.BaseModel]) -> Iterator[type[pydantic.BaseModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("rocm_perf_lab"):
            yield model
        yield from _models(model)


def main() -> None:
    _load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        print("listening", flush=True)
        request = _serve(listener)
    if request is None:
        return
    _become(request)
    exec(os.environ.pop(FIRST, ""), {})
    runpy._run_module_as_main("rocm_perf_lab")


if __name__ == "__main__":
    main()
