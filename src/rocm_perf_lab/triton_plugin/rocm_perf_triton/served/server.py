"""Answers requests about a launch while the script is paused at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rocm_perf_triton.served import timing
from rocm_perf_triton.served.channel import Channel, Message
from rocm_perf_triton.served.interpreted import interpreted
from rocm_perf_triton.served.launch import ServedLaunch
from rocm_perf_triton.served.memory import ArgumentMemory
from rocm_perf_triton.served.recording import recorded_launch
from rocm_perf_triton.versions import compiled_files

_MAX_REASON_LENGTH = 500


class Server:
    """Serves each launch whose key differs from all earlier keys; other launches run with the values chosen for their key."""

    def __init__(self, channel: Channel, key: list[str] | None):
        self._channel, self._key = channel, key
        self._chosen: dict[str, Any] = {}

    def served(self, launch: ServedLaunch) -> Any:
        described = launch.described()
        values = self._key_of(described)
        key = json.dumps([values, [argument.get("dtype") for argument in described["arguments"].values()]])
        if key not in self._chosen:
            self._chosen[key] = self._serve(launch, described | {"key": values})
        return launch.run(self._chosen[key])

    def _key_of(self, described: dict[str, Any]) -> dict[str, Any]:
        """The values that distinguish problem sizes: the values of the given names, or of the function's key, or else of
        all integer arguments except constants.
        """
        arguments, constants = described["arguments"], described["constants"]
        names = self._key or described["key"]
        if names is None:
            integers = [name for name, argument in arguments.items() if type(argument.get("value")) is int]
            names = [name for name in integers if name not in constants and name not in ("num_warps", "num_stages")]
        return {name: arguments[name].get("value", arguments[name].get("dtype")) for name in names if name in arguments}

    def _serve(self, launch: ServedLaunch, described: dict[str, Any]) -> Any:
        memory = ArgumentMemory(launch.arguments)
        self._channel.send(event="launch", **described)
        for request in self._channel.requests():
            if request["do"] == "continue":
                memory.restore()
                return request["values"]
            try:
                answer = _HANDLERS[request["do"]](launch, memory, request)
            except Exception as error:
                answer = {"error": _reason(error), "is_dead": not _is_of_compiler(error)}
            self._channel.send(event="answer", **answer)
        raise SystemExit("the requesting process is gone")


def _compile(launch: ServedLaunch, _memory: ArgumentMemory, request: Message) -> Message:
    import triton

    kernel = launch.run(request["values"], warmup=True)
    return {
        "binary": compiled_files(kernel, triton.__version__)[".hsaco"],
        "shared": kernel.metadata.shared,
        "threads": kernel.metadata.num_warps * kernel.metadata.warp_size,
        "matrix_instructions": kernel.asm["amdgcn"].count("v_mfma_"),
        "programs": launch.programs(request["values"]),
    }


def _evaluate(launch: ServedLaunch, memory: ArgumentMemory, request: Message) -> Message:
    """The times of the launch, and the arrays that it changed. The arguments are restored afterwards."""
    values = request["values"]
    launch.run(values, warmup=True)
    try:
        memory.restore()
        if timing.is_modelled():
            runs = timing.modelled(lambda: launch.run(values))
            return {"runs": runs, "outputs": memory.changed(Path(request["folder"]))}
        launch.run(values)
        outputs = memory.changed(Path(request["folder"]))
        return {"runs": timing.measure(lambda: launch.run(values)), "outputs": outputs}
    finally:
        memory.restore()


def _record(launch: ServedLaunch, memory: ArgumentMemory, request: Message) -> Message:
    """The launch with some numbers replaced, as recorded_launch() describes it. Nothing runs."""
    return recorded_launch(launch, memory, request["numbers"], Path(request["folder"]))


_HANDLERS = {"compile": _compile, "evaluate": _evaluate, "record": _record, "interpret": interpreted}


def _reason(error: Exception) -> str:
    """The error's type and message. The middle of a long message, which mostly quotes source code, is cut out."""
    text = " ".join(str(error).split())
    shown = (
        text if len(text) <= _MAX_REASON_LENGTH else f"{text[: _MAX_REASON_LENGTH // 2]} ... {text[-_MAX_REASON_LENGTH // 2 :]}"
    )
    return f"{type(error).__name__}: {shown}"


def _is_of_compiler(error: Exception) -> bool:
    """Whether the process can continue: once a kernel has failed, every later HIP call fails."""
    from triton.runtime.errors import TritonError

    return isinstance(error, (TritonError, TypeError, ValueError, KeyError, AssertionError)) or "ompil" in type(error).__name__
