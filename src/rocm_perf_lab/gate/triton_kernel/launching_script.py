"""A script (the baseline's or the candidate's) that is followed from one launch of the kernel to the next."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch, copy_untrusted_file, read_launch
from rocm_perf_lab.triton_launches import ScriptKernel, ServedScript, environment_of

_SCRIPT_SECONDS = 600.0  # for the whole script, in the cage
_INTERPRETER_SECONDS = 30
_OTHER_HOMES = ("TRITON_CACHE_DIR", "TRITON_HOME")


@dataclass(frozen=True)
class LaunchDescription:
    """The script's description of a launch; see ServedLaunch.described() in rocm_perf_triton.served."""

    fields: Mapping[str, Any]

    @property
    def key(self) -> dict[str, Any]:
        return dict(self.fields["key"])

    @property
    def types(self) -> dict[str, str]:
        """Array -> dtype."""
        return {
            name: str(argument["dtype"]) for name, argument in self.fields["arguments"].items() if argument["kind"] == "array"
        }

    @property
    def numbers(self) -> dict[str, int]:
        """The integers greater than 1 that are passed to the kernel at launch."""
        return {
            name: argument["value"]
            for name, argument in self.fields["arguments"].items()
            if type(argument.get("value")) is int and argument["value"] > 1 and name in self._run_time_parameters
        }

    @property
    def _run_time_parameters(self) -> set[str]:
        return set(self.fields["parameters"]) - set(self.fields["constants"])


class LaunchingScript:
    """A running script. Its methods raise ScriptExitedError, ScriptTimeoutError and, for invalid answers, SourceError; the
    caller turns these into verdicts.
    """

    def __init__(self, script: ServedScript, folder: Path, files: Path, is_candidate: bool, timeout: float):
        self._script, self._folder, self._files = script, folder, files
        self._is_candidate, self._timeout = is_candidate, timeout

    def next(self) -> LaunchDescription | int:
        """The next launch whose key differs from those of earlier launches, or the script's exit status."""
        message = self._script.receive(self._timeout)
        try:
            return int(message["status"]) if message["event"] == "end" else _expect_complete(LaunchDescription(message))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise SourceError("its description of the launch does not have the expected form", "") from error

    def record(self, numbers: Mapping[str, int]) -> RecordedLaunch:
        """The launch with these numbers instead of its own. Also raises SourceError if the kernel does not compile."""
        answer = self._script.ask(self._timeout, do="record", numbers=dict(numbers), folder=str(self._folder))
        if "error" in answer:
            raise SourceError(str(answer["error"]), "")
        answer.pop("event", None)
        return read_launch(answer, self._folder, self._files, with_contents=not self._is_candidate)

    def interpret(self, numbers: Mapping[str, int], contents: Mapping[str, str]) -> dict[str, Path] | str:
        """Run the launch in Triton's interpreter. Returns, for each argument, a file with the final contents of its memory; or
        the reason why the launch cannot be interpreted.

        contents: for each argument, the name of a file with the initial contents of its memory. Raises SourceError if the
        interpreter was not even started, for example because the machine does not have enough memory for another process; this
        says nothing about the kernel.
        """
        for name in contents.values():
            shutil.copyfile(self._files / name, self._folder / name)
        request = {"numbers": dict(numbers), "contents": dict(contents), "folder": str(self._folder)}
        answer = self._script.ask(self._timeout, do="interpret", seconds=_INTERPRETER_SECONDS, **request)
        if "error" in answer:
            raise SourceError(str(answer["error"]), "")
        outputs = answer.get("outputs")
        if not isinstance(outputs, dict):
            return str(answer.get("obstacle"))
        return {str(name): copy_untrusted_file(self._folder, str(file), self._files) for name, file in outputs.items()}

    def go_on(self) -> None:
        self._script.send(do="continue", values=None)

    def output_tail(self) -> str:
        return self._script.output_tail()


def _expect_complete(launched: LaunchDescription) -> LaunchDescription:
    """Check that no field is missing. Any error from reading a field is passed on."""
    _ = launched.key, launched.types, launched.numbers
    return launched


@contextmanager
def launching(
    kernel: ScriptKernel, device: Device, scratch: Path, files: Path, key: Sequence[str], view: View | None, timeout: float
) -> Iterator[LaunchingScript]:
    """Start the script. view: None for the baseline's script, which runs without a cage. key: names of the numbers that
    distinguish launches.
    """
    name = "baseline" if view is None else "candidate"
    (folder := scratch / name).mkdir()
    environment = environment_of(device.environment(os.environ), key)
    command = kernel.command()
    if view is not None:
        triton_variables = [name for name in environment if name.startswith("TRITON_") and name not in _OTHER_HOMES]
        view = View(
            (*view.readable, kernel.script.absolute().parent, scratch, *kernel.of_environment(), *kernel.of_change()),
            (*view.writable, folder),
            keep_env=(*view.keep_env, *triton_variables, "PYTHONPATH", "ROCM_PERF_TRITON_KEY"),
            trusted=view.trusted,
        )
        command = cage.within(command, Path.cwd(), view, CageLimits(seconds=_SCRIPT_SECONDS))
    with ServedScript(command, environment, scratch / f"{name}.stderr") as script:
        yield LaunchingScript(script, folder, files, view is not None, timeout)
