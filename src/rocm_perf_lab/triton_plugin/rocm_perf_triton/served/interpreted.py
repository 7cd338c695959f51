"""Runs a launch in Triton's interpreter, which executes the source with NumPy, as a second opinion on the compiled code.

The interpreter changes Triton's functions while it runs, so it gets its own process, which exits without notifying HIP.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocm_perf_triton.served.launch import ServedLaunch, Values
from rocm_perf_triton.served.memory import ArgumentMemory, stored

Message = dict[str, Any]
_MAX_PROGRAMS = 256
_MAX_WAIT_FACTOR = 10  # limit on the elapsed time, as a multiple of the processor time allowed


def interpreted(launch: ServedLaunch, memory: ArgumentMemory, request: Message) -> Message:
    """request: "numbers": values that replace arguments of the script; "contents": for each argument, the file with its memory;
    "folder": where these files are; "seconds": the limit on processor time.

    The answer contains either "outputs": for each argument, the file with its memory after the launch; or "obstacle": why the
    launch was not interpreted.
    """
    grid = launch.programs(None, request["numbers"])
    programs = 1
    for count in grid:
        programs *= count
    if programs > _MAX_PROGRAMS:
        return {"obstacle": f"{programs} programs are too many"}
    answers, to_parent = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answers)
        with os.fdopen(to_parent, "w") as stream:
            json.dump(_in_child(launch, memory, request, tuple(grid)), stream)
        os._exit(0)
    os.close(to_parent)
    with os.fdopen(answers) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    if not text:
        killer = signal.Signals(status & 0x7F).name if status & 0x7F else "an error"
        return {"obstacle": f"the interpreter was stopped by {killer}"}
    answer: Message = json.loads(text)
    return answer


def _in_child(launch: ServedLaunch, memory: ArgumentMemory, request: Message, grid: tuple[int, ...]) -> Message:
    # The limit is on processor time, since other load on the machine must not decide whether the results are compared.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_MAX_WAIT_FACTOR * int(request["seconds"]))
    folder = Path(request["folder"])
    try:
        contents = {name: file for name, file in request["contents"].items() if name in memory.pieces}
        for name, file in contents.items():
            memory.pieces[name].load((folder / file).read_bytes())
        _run(launch, launch.values_of_launch(None, request["numbers"]), grid)
        return {"outputs": {name: stored(memory.pieces[name].contents(), folder) for name in contents}}
    except Exception as error:
        reason = " ".join(str(error.__cause__ or error).split())
        return {"obstacle": f"the interpreter cannot run it: {type(error).__name__}: {reason[:200]}"}
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _run(launch: ServedLaunch, named: Values, grid: tuple[int, ...]) -> None:
    from triton.runtime import interpreter
    from triton.runtime.interpreter import GridExecutor, InterpretedFunction
    from triton.runtime.jit import JITFunction

    interpreter._patch_lang_tensor = _indexing(interpreter._patch_lang_tensor)

    # Arrays are in host memory already. Functions that the kernel calls are wrapped for compilation, not for interpretation.
    GridExecutor._init_args_hst = lambda self, arguments, keywords: (arguments, keywords)
    GridExecutor._restore_args_dev = lambda *_: None
    JITFunction.__call__ = lambda self, *arguments, **keywords: InterpretedFunction(self.fn)(*arguments, **keywords)
    InterpretedFunction(launch.jit.fn).run(grid=grid, warmup=False, **named)


def _indexing(patch: Callable[..., None]) -> Callable[..., None]:
    """Triton's own patch to its tensors, extended so that one-element tensors can be used as indices, for example in range().

    Triton's version calls int(array), which has been an error since NumPy 2.4 unless the array has no dimensions.
    """

    def patched(tensor: Any, *scope: Any) -> None:
        patch(tensor, *scope)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    return patched
