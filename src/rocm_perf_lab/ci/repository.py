"""The git repository: its revisions by name, and work trees with their files."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, OutputError, UsageError

_SHORT = 12  # digits of a commit


@dataclass(frozen=True)
class Revision:
    """given_name: the name that the user gave. commit: the full hash. subject: the first line of the commit message."""

    given_name: str
    commit: str
    subject: str

    @property
    def short(self) -> str:
        return self.commit[:_SHORT]


@dataclass(frozen=True)
class Repository:
    """top: the folder of the checkout."""

    top: Path

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """The repository that contains `folder`. Raises MissingInputError if there is none, or if git is not installed."""
        completed = _git(folder, "rev-parse", "--show-toplevel")
        if completed.returncode:
            raise MissingInputError(
                f"{folder} is not in a checkout of a git repository ({_error_text(completed)})", "change to one"
            )
        return cls(Path(completed.stdout.rstrip("\n")))

    def revision(self, name: str) -> Revision:
        """The commit that `name` stands for. Raises UsageError if there is no such commit."""
        completed = _git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        if completed.returncode:
            hint = "check its name; in a shallow checkout, fetch it first (GitHub: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"
            raise UsageError(f"{name} is not a commit of {self.top}", hint)
        commit = completed.stdout.strip()
        return Revision(name, commit, _git(self.top, "show", "--no-patch", "--format=%s", commit).stdout.strip())

    def merge_base(self, base: Revision, head: Revision) -> Revision | None:
        """The commit at which head branched off base; None if the two share no commit in this clone."""
        completed = _git(self.top, "merge-base", base.commit, head.commit)
        return None if completed.returncode else self.revision(completed.stdout.strip())

    def has_uncommitted_changes(self) -> bool:
        return bool(_git(self.top, "status", "--porcelain", "--untracked-files=no").stdout.strip())

    @contextlib.contextmanager
    def files(self, revision: Revision, folder: Path) -> Iterator[Path]:
        """The revision's files, with submodules, in a work tree at `folder`, which is removed at the end.

        Raises OutputError if git cannot make it.
        """
        self._remove(folder)  # left by a run that was killed
        try:
            self._expect_success(
                folder, _git(self.top, "worktree", "add", "--quiet", "--detach", "--force", str(folder), revision.commit)
            )
            if (folder / ".gitmodules").exists():
                self._expect_success(folder, _git(folder, "submodule", "--quiet", "update", "--init", "--recursive"))
            yield folder
        finally:
            self._remove(folder)

    def _remove(self, folder: Path) -> None:
        if folder.exists():
            _git(self.top, "worktree", "remove", "--force", "--force", str(folder))
        _git(self.top, "worktree", "prune")

    def _expect_success(self, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
        if done.returncode:
            raise OutputError(
                f"git cannot make a work tree in {folder} ({_error_text(done)})", "correct what git reports, then try again"
            )


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, errors="surrogateescape", check=False
        )
    except FileNotFoundError as error:
        raise MissingInputError("git was not found on PATH", "install it") from error


def _error_text(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
