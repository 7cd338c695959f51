"""A launch as data: its code, its grid, the words of its arguments and the memory to which they point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocm_perf_triton import launcher
from rocm_perf_triton.host_arrays import MemorySpan
from rocm_perf_triton.kernel_arguments import Pointer, Word
from rocm_perf_triton.launcher import Launcher
from rocm_perf_triton.served.launch import ServedLaunch, Values
from rocm_perf_triton.served.memory import ArgumentMemory, stored

_ALIGNMENT = 16  # Triton specializes kernels for addresses that are multiples of this number

Message = dict[str, Any]


def recorded_launch(launch: ServedLaunch, memory: ArgumentMemory, numbers: Values, folder: Path) -> Message:
    """The launch as data. code: the name of a file in `folder`. arguments: a list of words for each argument; a pointer is
    given as an index into `buffers` and an offset.

    numbers: values that replace arguments of the script. The buffers have the contents they had before the launch.
    """
    launches: list[Message] = []

    def record(launched: Launcher, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        words = launched.words_of(arguments)
        spans = list(
            dict.fromkeys(word.memory for argument_words in words for word in argument_words if isinstance(word, Pointer))
        )
        launches.append(
            {
                "grid": list(grid),
                "threads": launched.threads,
                "shared": launched.shared,
                "scratch_bytes": launched.scratch_bytes,
                "arguments": [
                    {"name": name, "words": [_word(word, spans) for word in argument_words]}
                    for name, argument_words in zip(launched.names, words)  # noqa: B905 - one for each name
                ],
                "buffers": [_memory(span, memory, folder) for span in spans],
            }
        )

    with launcher.recording(record):
        kernel = launch.run(None, numbers=numbers)
    return {"name": kernel.name, "code": stored(kernel.kernel, folder), **launches[-1]}


def _word(word: Word, spans: list[MemorySpan]) -> Message:
    if isinstance(word, Pointer):
        return {"memory": spans.index(word.memory), "offset": word.address - word.memory.begin}
    return {"bits": word}


def _memory(span: MemorySpan, memory: ArgumentMemory, folder: Path) -> Message:
    """One entry of `buffers`. names: the arguments that own this memory; if there are none, its contents are empty."""
    names = [name for name, piece in memory.pieces.items() if getattr(piece, "span", None) == span]
    contents = memory.before[names[0]] if names else b""
    return {
        "names": names,
        "size": span.end - span.begin,
        "shift": span.begin % _ALIGNMENT,
        "contents": stored(contents, folder),
    }
