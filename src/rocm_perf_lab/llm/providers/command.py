"""Asks any program that reads the prompt on its standard input and prints the answer: a coding agent, or the user's script."""

from __future__ import annotations

import codecs
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.errors import LanguageModelError, MissingInputError, UsageError
from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.llm.providers import RegisteredProvider
from rocm_perf_lab.llm.providers.protocol import Answer, AnswerCollector, Message, ModelOptions, Progress
from rocm_perf_lab.process.child import DeferredInterrupts, raise_if_stopped, wait
from rocm_perf_lab.process.piped import piped

_CHUNK, _LAST_WORDS, _LOOK_SECONDS = 1 << 16, 300, 0.5


@dataclass(frozen=True)
class CommandProvider:
    """A program that answers questions.

    model: the program and its arguments, written as in a shell but run without one. timeout: for a whole answer, in seconds.
    """

    model: str
    timeout: float

    @classmethod
    def of(cls, model: ModelOptions, _registered: RegisteredProvider, _key: ApiKey | None) -> CommandProvider:
        """The provider for a program.

        Raises UsageError if an address is given, as a program has none, and any error of expect_program().
        """
        if model.base_url is not None:
            raise UsageError("--base-url cannot be used with --provider command", "omit it")
        command = cls(model.name, model.timeout)
        command.expect_program()
        return command

    @property
    def endpoint(self) -> str:
        return f"the program `{self.model}`"

    def expect_program(self) -> None:
        """Check the program before anything is built. Raises LanguageModelError if there is no such program, and UsageError if
        its command line cannot be split into words.
        """
        try:
            resolve([*self._command_words()[:1], ""])
        except MissingInputError as error:
            raise LanguageModelError(f"{self.endpoint} cannot be run: {error.problem}", error.hint) from error

    def ask(self, messages: Sequence[Message], progress: Progress) -> Answer:
        with tempfile.TemporaryFile() as prompt, tempfile.TemporaryFile() as complaints, DeferredInterrupts() as interrupts:
            prompt.write(as_one_text(messages).encode())
            prompt.seek(0)
            process = self._start(prompt, complaints)
            try:
                interrupts.deliver()
                deadline = time.monotonic() + self.timeout
                text = self._read_answer(process, deadline, progress)
                status = wait(process, max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise LanguageModelError(
                    f"{self.endpoint} did not answer and end within {self.timeout:g} s", "raise --model-timeout"
                ) from error
            finally:
                _kill(process)
            if status:
                raise LanguageModelError(
                    f"{self.endpoint} ended with status {status}{_last_words(complaints)}", "make it succeed first"
                )
            return Answer(text, self.model)

    def _command_words(self) -> list[str]:
        try:
            return shlex.split(self.model)
        except ValueError as error:
            raise UsageError(f"cannot split --model {self.model!r} into words ({error})", "balance its quotes") from error

    def _start(self, prompt: IO[bytes], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        words = self._command_words()
        try:
            return subprocess.Popen(words, stdin=prompt, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True)
        except (OSError, IndexError) as error:
            reason = getattr(error, "strerror", None) or "it is empty"
            raise LanguageModelError(
                f"{self.endpoint} cannot be run ({reason})", "name an existing program with --model"
            ) from error

    def _read_answer(self, process: subprocess.Popen[bytes], deadline: float, progress: Progress) -> str:
        """The text that the program prints until it closes its output or ends, whichever comes first: a process that it leaves
        behind may keep the output open.
        """
        output, ended = piped(process.stdout), os.pidfd_open(process.pid)
        text, decoder = AnswerCollector(progress), codecs.getincrementaldecoder("utf-8")("replace")
        try:
            with selectors.DefaultSelector() as selector:
                for file in (output, ended):
                    selector.register(file, selectors.EVENT_READ)
                while (left := deadline - time.monotonic()) > 0:
                    raise_if_stopped()
                    ready = [key.fileobj for key, _ in selector.select(min(left, _LOOK_SECONDS))]
                    if not ready:
                        continue
                    chunk = os.read(output.fileno(), _CHUNK) if output in ready else b""
                    text.add(decoder.decode(chunk, final=not chunk))
                    if not chunk:
                        return text.text
        finally:
            os.close(ended)
        raise subprocess.TimeoutExpired(self.model, self.timeout)


def as_one_text(messages: Sequence[Message]) -> str:
    """The conversation as a single text; if it has several questions, each part gets a heading."""
    if sum(message.role == "user" for message in messages) == 1:
        return "\n\n".join(message.text for message in messages) + "\n"
    names = {"system": "Instructions", "user": "Question", "assistant": "Your earlier answer"}
    return "\n\n".join(f"=== {names[message.role]} ===\n\n{message.text}" for message in messages) + "\n"


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    piped(process.stdout).close()
    process.wait()


def _last_words(complaints: IO[bytes]) -> str:
    complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - _LAST_WORDS))
    words = " ".join(complaints.read().decode(errors="replace").split())
    return f": {words}" if words else ""
