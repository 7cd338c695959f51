"""Warm processes that wait at the same launch of the same script, and evaluate configurations there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError, ServedScript
from rocm_perf_lab.triton_launches.served_script import Message

Values = dict[str, Any]


class ScriptEndedEarlyError(Exception):
    """The script ended without reaching the next launch of the kernel. The argument is the script's exit status."""


@dataclass
class _Worker:
    number: int
    script: ServedScript | None = None
    passed: int = 0  # number of launches that it has already passed
    launch: Message = field(default_factory=dict)


class Workers:
    """start(worker) starts the script in a process of its own; each worker is used by one thread at a time.

    A worker that is started late or restarted first goes through the earlier launches with the values chosen for them, as the
    other workers did.
    """

    def __init__(self, start: Callable[[int], ServedScript], count: int, timeout: float | None):
        self.count = count
        self._start, self._timeout = start, timeout
        self._workers = [_Worker(number) for number in range(count)]
        self._chosen: list[Values] = []

    def launch(self) -> tuple[Message | None, int]:
        """(the launch at which the first worker now waits, 0), or (None, exit status) if the script has ended.

        Raises ScriptExitedError.
        """
        try:
            return self._bring_to_launch(self._workers[0]).launch, 0
        except ScriptEndedEarlyError as end:
            return None, int(end.args[0])

    def choose(self, values: Values) -> None:
        """Let each worker's script launch the kernel with these values and continue to the next launch with a different key."""
        self._chosen.append(values)

    def ask(self, worker: int, **request: Any) -> Message:
        """One worker's answer. If the kernel failed, the worker's process is stopped; the next request starts another.

        Raises ScriptExitedError, ScriptTimeoutError.
        """
        process = self._workers[worker]
        try:
            answer = self._script(self._bring_to_launch(process)).ask(self._timeout, **request)
        except (ScriptExitedError, ScriptTimeoutError):
            self._end(process)
            raise
        except ScriptEndedEarlyError as end:
            raise ScriptExitedError(
                f"the script ended with status {end.args[0]} instead of launching the kernel as before"
            ) from end
        if answer.get("is_dead"):
            self._end(process)
        return answer

    def output_tail(self) -> str:
        """The end of what the first worker's script printed."""
        script = self._workers[0].script
        return script.output_tail() if script is not None else ""

    def close(self) -> None:
        for worker in self._workers:
            self._end(worker)

    def _bring_to_launch(self, worker: _Worker) -> _Worker:
        if worker.script is None:
            worker.script, worker.passed, worker.launch = self._start(worker.number), 0, {}
        if not worker.launch:
            self._receive_launch(worker)
        while worker.passed < len(self._chosen):
            worker.script.send(do="continue", values=self._chosen[worker.passed])
            worker.passed += 1
            self._receive_launch(worker)
        return worker

    def _receive_launch(self, worker: _Worker) -> None:
        message = self._script(worker).receive()
        if message["event"] == "end":
            raise ScriptEndedEarlyError(message["status"])
        worker.launch = message

    def _script(self, worker: _Worker) -> ServedScript:
        if worker.script is None:
            raise ValueError("the worker's script was not started")
        return worker.script

    def _end(self, worker: _Worker) -> None:
        if worker.script is not None:
            worker.script.close()
        worker.script = None
