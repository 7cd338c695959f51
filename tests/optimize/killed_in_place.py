"""Replaces several files together and is killed before the file with this number, or after the last; or does what the next
start does: `sweep`.

    python killed_in_place.py FOLDER NUMBER|sweep FILES...
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from rocm_perf_lab.optimize import run_folder, source_file
from rocm_perf_lab.optimize.journal import Journal

CHANGED = b"// changed\n"


def main(folder: Path, which: str, files: list[Path]) -> None:
    runs = folder / "program.rocm-perf-optimize"
    if which == "sweep":
        run_folder.sweep_after_kills(runs)
        return
    run = run_folder.new_run(runs)
    journal = Journal(run)
    sources = [source_file.SourceFile(path, run / str(number), journal) for number, path in enumerate(files)]
    for source in sources:
        source.save()
    left, replace = int(which), os.replace

    def counted(old: Path, new: Path) -> None:
        nonlocal left
        left -= new in files
        if left == 0 and new in files:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(old, new)

    os.replace = counted
    source_file.replace_all_or_none({source: CHANGED for source in sources}, "accepted by the gate")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [Path(path) for path in sys.argv[3:]])
