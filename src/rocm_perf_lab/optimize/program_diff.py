"""A change to a program's sources, as one patch."""

from __future__ import annotations

import os
from pathlib import Path

from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.hip_source.source_texts import parted


def program_diff(source: Path, before: bytes, after: bytes) -> str:
    """The change as a patch for `patch -p1` in the source's folder or, if other files change as well, in the folder that
    contains all changed files.

    before, after: states, as in hip_source.source_texts. source: the file with the kernel. Raises OSError if one of the other
    files cannot be read.
    """
    (own, old_others), (new, new_others) = parted(before), parted(after)
    texts = {source: (own, new)}
    for file, text in new_others.items():
        texts[file] = (old_others[file] if file in old_others else file.read_bytes(), text)
    real = {file: file.resolve() if len(texts) > 1 else file for file in texts}
    folder = os.path.commonpath([file.parent for file in real.values()])
    return "".join(unified_diff(*texts[file], os.path.relpath(real[file], folder)) for file in texts)
