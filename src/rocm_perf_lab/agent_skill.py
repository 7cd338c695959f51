"""The skill for coding agents: finding it, and installing it where an agent looks for skills."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, OutputError, UnavailableError

NAME = "rocm-perf"
_MAIN_FILE = "SKILL.md"
_PACKAGE = Path(__file__).resolve().parent
# The agents' own folders; each agent looks for skills in the subfolder `skills/`.
AGENT_FOLDERS = ("~/.claude", "~/.codex", "~/.copilot", "~/.gemini")


def skill_folder() -> Path:
    """The skill's folder: in the installed package, or in the repository of an editable install. Raises UnavailableError."""
    for folder in (_PACKAGE / "_skill", _PACKAGE.parents[1] / "skill" / NAME):
        if (folder / _MAIN_FILE).is_file():
            return folder
    raise UnavailableError(f"the skill was not found beside {_PACKAGE}", "install rocm-perf-lab again")


def folders_of_agents() -> list[Path]:
    """The folders in which this user's agents look for skills. Raises MissingInputError if no agent has a folder."""
    folders = [folder / "skills" for name in AGENT_FOLDERS if (folder := Path(name).expanduser()).is_dir()]
    if not folders:
        raise MissingInputError(
            f"no agent's folder was found (looked for {', '.join(AGENT_FOLDERS)})",
            "name the folder in which yours looks for skills: --to .claude/skills",
        )
    return folders


def install(into: Path) -> Path:
    """Copy the skill to `into`/rocm-perf, replacing an earlier version; return its folder.

    Raises OutputError if the folder cannot be written, UnavailableError if the skill cannot be found.
    """
    destination, source = into / NAME, skill_folder()
    if destination.exists() and not _is_ours(destination):
        raise OutputError(f"{destination} exists and is not this skill", "move it away, or name another folder with --to")
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=into) as scratch:
            copy = Path(shutil.copytree(source, Path(scratch) / "new"))
            if destination.exists():
                destination.rename(Path(scratch) / "old")
            copy.rename(destination)
    except OSError as error:
        raise OutputError(f"{destination} cannot be written ({error.strerror})", "name another folder with --to") from error
    return destination


def _is_ours(folder: Path) -> bool:
    try:
        return f"name: {NAME}\n" in (folder / _MAIN_FILE).read_text("utf-8", "replace")
    except OSError:
        return False
