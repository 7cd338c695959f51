"""The databases that a path stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.analysis.ranks import Rank, ranks
from rocm_perf_lab.errors import MissingInputError, UsageError
from rocm_perf_lab.rocpd.origin import origins


def databases_in(path: Path) -> list[Path]:
    """The database itself, or those in the folder and its subfolders (rocprofv3 creates one per host).

    Raises MissingInputError.
    """
    if not path.exists():
        raise MissingInputError(f"there is no trace {path}", "give the path of a rocpd .db file, or of a folder of such files")
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob("*.db"))
    if not found:
        raise MissingInputError(f"the folder {path} contains no .db file", "profile with `rocprofv3 --output-format rocpd`")
    return found


def only_rank(paths: Sequence[Path]) -> Rank:
    """The only process of which these are runs. Raises UsageError if they are of several, TraceError."""
    found, _ = ranks([origin for path in paths for origin in origins(path)])
    if len(found) > 1:
        raise UsageError(f"{paths[0].parent} has {len(found)} ranks", "take one rank at a time: name its database")
    return found[0]
