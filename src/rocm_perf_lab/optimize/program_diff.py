"""A change to a program's sources, as one patch."""

from __future__ import annotations

import os
from pathlib import Path

from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.hip_source.source_state import split_state


def program_diff(source: Path, before: bytes, after: bytes) -> str:
    """The change as a patch for `patch -p1` in the source's folder or, if other files change as well, in the folder that
    contains all changed files.

    before, after: states, as in hip_source.source_state. source: the file with the kernel. Raises OSError if one of the other
    files cannot be read.
    """
    (own_before, others_before), (own_after, others_after) = split_state(before), split_state(after)
    texts = {source: (own_before, own_after)}
    for file, text in others_after.items():
        texts[file] = (others_before[file] if file in others_before else file.read_bytes(), text)
    real = {file: file.resolve() if len(texts) > 1 else file for file in texts}
    folder = os.path.commonpath([file.parent for file in real.values()])
    return "".join(unified_diff(*texts[file], os.path.relpath(real[file], folder)) for file in texts)
