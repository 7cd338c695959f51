"""A launch as described by a script's process. The script may be the candidate's, so nothing in the description is trusted."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rocm_perf_lab.errors import SourceError

_MAX_BYTES = 8 << 30
_FILE_NAME = r"^[0-9a-f]{64}$"
FileName = Annotated[str, Field(pattern=_FILE_NAME)]
_STRICT = ConfigDict(extra="forbid", strict=True)


class ArgumentWord(BaseModel):
    """Either plain bits, or a place in one of the launch's buffers, `offset` bytes after its beginning."""

    model_config = _STRICT
    bits: int | None = Field(default=None, ge=0, lt=1 << 64)
    memory: int | None = Field(default=None, ge=0)
    offset: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_one(self) -> ArgumentWord:
        if (self.bits is None) == (self.memory is None) or (self.memory is None) != (self.offset is None):
            raise ValueError("neither bits nor an offset in a buffer")
        return self


class RecordedArgument(BaseModel):
    model_config = _STRICT
    name: str = Field(max_length=1000)
    words: list[ArgumentWord] = Field(max_length=64)


class RecordedBuffer(BaseModel):
    """names: the arguments that own the memory. shift: its address modulo 16. contents: the file that holds its contents."""

    model_config = _STRICT
    names: list[str]
    size: int = Field(gt=0, le=_MAX_BYTES)
    shift: int = Field(ge=0, lt=16)
    contents: FileName


class RecordedLaunch(BaseModel):
    """name: the kernel's name in its code. code: the name of the code's file. threads: threads per workgroup. shared: bytes of
    LDS per workgroup. scratch_bytes: bytes per workgroup of each kind of scratch.
    """

    model_config = _STRICT
    name: str = Field(max_length=4000)
    code: FileName
    grid: Annotated[list[Annotated[int, Field(ge=0, lt=1 << 31)]], Field(min_length=3, max_length=3)]
    threads: int = Field(ge=1, le=1024)
    shared: int = Field(ge=0, le=163840)
    scratch_bytes: list[Annotated[int, Field(ge=0, le=1 << 30)]] = Field(max_length=4)
    arguments: list[RecordedArgument] = Field(max_length=1000)
    buffers: list[RecordedBuffer] = Field(max_length=1000)

    @model_validator(mode="after")
    def _places_exist(self) -> RecordedLaunch:
        for word in (word for argument in self.arguments for word in argument.words):
            if word.memory is not None and (
                word.memory >= len(self.buffers) or (word.offset or 0) > self.buffers[word.memory].size
            ):
                raise ValueError("an argument lies in no memory")
        return self


def read_launch(answer: dict[str, Any], source: Path, files: Path, *, with_contents: bool) -> RecordedLaunch:
    """Check a served script's answer to "record", and copy the files that it names from `source` to `files`.

    with_contents: also copy the memory contents. Raises SourceError.
    """
    try:
        launch = RecordedLaunch.model_validate(answer)
    except ValidationError as error:
        raise SourceError(f"its launch is not described as one: {error.errors()[0]['msg']}", "") from error
    names = [launch.code, *(memory.contents for memory in launch.buffers if with_contents)]
    for name in names:
        _copy(source / name, files / name)
    return launch


def copy_untrusted_file(source: Path, name: str, destination: Path) -> Path:
    """Copy the file `name`, which a candidate may have written, from `source` to `destination`. Raises SourceError."""
    if not re.fullmatch(_FILE_NAME, name):
        raise SourceError("it names a file that is none of its results", "")
    _copy(source / name, destination / name)
    return destination / name


def _copy(source: Path, destination: Path) -> None:
    """Copy a file without following links, since a candidate may have created one."""
    if destination.exists():
        return
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream, destination.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
    except OSError as error:
        raise SourceError(f"its launch names a file that cannot be read ({error.strerror})", "") from error


def on_memory_of(candidate: RecordedLaunch, baseline: RecordedLaunch) -> RecordedLaunch | str:
    """The candidate's launch on the baseline's memory; or, in words, why that is impossible.

    Two buffers correspond if arguments of the same name own them.
    """
    owners = {name: index for index, memory in enumerate(baseline.buffers) for name in memory.names}
    places: list[int] = []
    for memory in candidate.buffers:
        matches = {owners[name] for name in memory.names if name in owners}
        names = ", ".join(memory.names)
        if not matches:
            return f"it is given {names or 'memory'}, which the baseline is not"
        if len(matches) > 1:
            return f"it is given the same memory for {names}, but the baseline has several"
        (index,) = matches
        if memory.size != baseline.buffers[index].size:
            return f"{names} has {memory.size} bytes, but {baseline.buffers[index].size} in the baseline"
        places.append(index)
    if len(set(places)) < len(places):
        return "it is given separate memory for arguments that share one in the baseline"
    if (name := _pointer_elsewhere(candidate, baseline, places)) is not None:
        return f"{name} points to a different place in its array"
    arguments = [
        RecordedArgument(name=argument.name, words=[_word_in_memory(word, places) for word in argument.words])
        for argument in candidate.arguments
    ]
    return candidate.model_copy(update={"arguments": arguments, "buffers": baseline.buffers})


def _pointer_elsewhere(candidate: RecordedLaunch, baseline: RecordedLaunch, places: Sequence[int]) -> str | None:
    """The first pointer argument that both launches have but that does not point to the same place; None if there is none."""
    known = {argument.name: argument.words for argument in baseline.arguments}
    for argument in candidate.arguments:
        words = [_word_in_memory(word, places) for word in argument.words if word.memory is not None]
        if words and argument.name in known and words != [word for word in known[argument.name] if word.memory is not None]:
            return argument.name
    return None


def _word_in_memory(word: ArgumentWord, places: Sequence[int]) -> ArgumentWord:
    return word if word.memory is None else word.model_copy(update={"memory": places[word.memory]})
