"""Identifies a kernel in a script, and builds the command that starts the script so that its launches can be served."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.collect import triton
from rocm_perf_lab.errors import MissingInputError, UnavailableError, UsageError

_SEPARATOR = "::"
_MODULE = "rocm_perf_triton.served"
_KEY_VARIABLE = "ROCM_PERF_TRITON_KEY"  # as in rocm_perf_triton/served/__main__.py
_CHANGED_MODULE, _CHANGED_OPTION = (
    "rocm_perf_triton.run_with_changed_file",
    "--changed",
)  # as in rocm_perf_triton/run_with_changed_file.py
_PYTHON_OPTION = "name the Python that has Triton with --python"
_FINDS_TRITON = "import importlib.util, sys; sys.exit(importlib.util.find_spec('triton') is None)"


@dataclass(frozen=True)
class ChangedFile:
    """A user's file whose text is replaced while the script runs. text: a file with the replacement."""

    path: Path
    text: Path


@dataclass(frozen=True)
class ScriptKernel:
    """A `@triton.jit` function and the script that launches it. python: the interpreter that has Triton installed.
    changed_file: the script, or a module that it imports, with its text replaced; None if no file is changed.
    """

    script: Path
    kernel: str
    arguments: tuple[str, ...]
    python: Path
    changed_file: ChangedFile | None = None

    @classmethod
    def of(cls, text: str, arguments: Sequence[str], python: str) -> ScriptKernel:
        """text: "script.py::kernel". Raises UsageError or MissingInputError if an argument is wrong, and UnavailableError if
        there is no usable Triton.
        """
        script, separator, kernel = text.rpartition(_SEPARATOR)
        if not separator or not script or not kernel.isidentifier():
            raise UsageError(f"{text} does not name a kernel of a script", "write script.py::kernel")
        if not Path(script).is_file():
            raise MissingInputError(f"{script} does not exist", "check the path before the ::")
        interpreter = shutil.which(python)
        if interpreter is None:
            raise MissingInputError(f"{python} is not a program", _PYTHON_OPTION)
        if (reason := triton.refusal(Path(interpreter))) is not None:
            raise UnavailableError(*reason.split(": ", 1))
        if triton.installed_version(Path(interpreter)) is None and not _finds_triton(interpreter):
            raise UnavailableError(f"{python} has no Triton", _PYTHON_OPTION)
        return cls(Path(script), kernel, tuple(arguments), Path(interpreter).absolute())

    def version(self) -> str | None:
        """The version of Triton installed for this Python; None if its own environment has none."""
        return triton.installed_version(self.python)

    def of_environment(self) -> list[Path]:
        """The files that must be visible to the interpreter, besides its folder and libraries, for it to recognise its
        virtual environment.
        """
        marker = self.python.parent.parent / "pyvenv.cfg"
        return [marker] if marker.exists() else []

    def with_text(self, path: Path, text: Path) -> ScriptKernel:
        """The same kernel, but the script runs with the contents of the file `text` in place of the contents of `path`."""
        return replace(self, changed_file=ChangedFile(path, text))

    def of_change(self) -> list[Path]:
        """The file with the replacement text, if any."""
        return [] if self.changed_file is None else [self.changed_file.text]

    def command(self) -> list[str]:
        """The command line of the process that serves the kernel's launches."""
        changed = (
            [] if self.changed_file is None else [_CHANGED_OPTION, str(self.changed_file.path), str(self.changed_file.text)]
        )
        return [str(self.python), "-m", _MODULE, *changed, self.kernel, str(self.script), *self.arguments]

    def program(self) -> list[str]:
        """The command line of the script itself."""
        if self.changed_file is None:
            return [str(self.python), str(self.script), *self.arguments]
        of_change = [_CHANGED_MODULE, str(self.changed_file.path), str(self.changed_file.text)]
        return [str(self.python), "-m", *of_change, str(self.script), *self.arguments]


def _finds_triton(python: str) -> bool:
    """Asks the interpreter itself, since it also searches the user's folders and PYTHONPATH, not only its environment."""
    return subprocess.run([python, "-c", _FINDS_TRITON], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def environment_of(base: Mapping[str, str], key: Sequence[str] = ()) -> dict[str, str]:
    """The environment `base`, which selects a device, extended so that Python finds rocm_perf_triton.served.

    key: the names of the arguments that distinguish problem sizes.
    """
    added = {_KEY_VARIABLE: ",".join(key)} if key else {}
    return triton.importable(base) | added
